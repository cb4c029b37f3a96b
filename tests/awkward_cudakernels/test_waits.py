"""How often the host waits: what docs/waits.md says."""

import pytest
import waits

from awkward_cudakernels import environment

pytestmark = pytest.mark.skipif(
    environment.why_no_cuda() is None, reason="CuPy is pretended, and a real one is there"
)


def test_the_document_is_up_to_date():
    text = waits.DOCUMENT.read_text(encoding="utf-8")
    assert waits.written(text) == text, "run tests/awkward_cudakernels/waits.py"


def test_what_needs_no_length_does_not_wait():
    found = waits.measured()
    for name in ("a[:, 0]", "a * 2", "ak.sum axis=1", "ak.argmax axis=1 keepdims", "ak.sort", "ak.num"):
        assert not found[name], name
    assert found["a[:, :2]"].total() == 1
