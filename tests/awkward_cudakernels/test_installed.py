"""The array layer on an awkward that is not the one it is for."""

import awkward as ak
import pretended_cupy
import pytest

import awkward_cudakernels
from awkward_cudakernels import environment


@pytest.fixture
def another_awkward(monkeypatch):
    """An awkward in which a function takes other arguments, and another has gone."""
    from awkward.operations import ak_num

    from awkward_cudakernels import _backend, arraylayer

    caches = arraylayer._checked, _backend._warn_of_unlike_kernels
    original = ak_num._impl
    ours = ak.contents.ListOffsetArray._drop_none

    def _impl(array, axis, highlevel, behavior, attrs, new=None):
        return original(array, axis, highlevel, behavior, attrs)

    monkeypatch.setattr(ak_num, "_impl", _impl)
    monkeypatch.delattr(ak.contents.ListOffsetArray, "_drop_none")
    monkeypatch.delattr(ak.contents.Content, "_drop_none", raising=False)
    for one in caches:
        one.cache_clear()
    yield _impl
    awkward_cudakernels.unregister("cuda")
    monkeypatch.undo()
    assert ak.contents.ListOffsetArray._drop_none is ours
    for one in caches:
        one.cache_clear()


@pytest.mark.skipif(environment.why_no_cuda() is None, reason="without a GPU CuPy is pretended")
def test_what_an_installed_awkward_has_differently_stays_its_own(another_awkward):
    from awkward_cudakernels import arraylayer, doctor

    found = arraylayer.unlike_installed()
    assert len(found) == 2
    assert "ak_num._impl: other arguments" in found[1] or "ak_num._impl: other arguments" in found[0]
    assert any("ListOffsetArray._drop_none: not in the installed awkward" in line for line in found)
    check = doctor._array_layer()
    assert check.state == "wrong"
    assert all(line in check.found for line in found)
    with pretended_cupy.instead():
        with pytest.warns(UserWarning, match="2 of the installed awkward's functions"):
            awkward_cudakernels.register("cuda")
        try:
            array = ak.to_backend(ak.Array([[1, 2], [], [3]]), "cuda")
            assert ak.operations.ak_num._impl is another_awkward
            assert ak.num(array).to_list() == [2, 0, 1]
            assert (array + 1).to_list() == [[2, 3], [], [4]]
        finally:
            awkward_cudakernels.unregister("cuda")


def test_the_installed_awkward_is_the_one_that_the_layer_is_for():
    from awkward_cudakernels import arraylayer

    assert arraylayer.unlike_installed() == ()
