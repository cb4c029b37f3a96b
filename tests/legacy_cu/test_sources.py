"""What the files declare, against awkward's signature table; nothing is compiled."""

import subprocess
import sys

import pytest
from raw import OLDER

import legacy_cu
from awkward_cudakernels import registry, signatures
from legacy_cu import _source

FAMILIES = legacy_cu.kernels()


def test_which_families():
    """All that awkward has run as raw CUDA kernels, and two of older releases."""
    raw = {name for name, x in signatures.families().items() if x.history.startswith("raw-cuda")}
    assert set(FAMILIES) == raw | set(OLDER)
    assert len(FAMILIES) == 35


def test_one_file_for_each():
    files = {path.stem for path in (_source.FOLDER / "kernels").iterdir()}
    assert files == set(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_messages(name):
    """The same texts as in the compiled kernels; awkward's order, or the order of checks."""
    expected = () if name in OLDER else signatures.families()[name].errors
    assert FAMILIES[name].source.errors == expected


@pytest.mark.parametrize("name", FAMILIES)
def test_signature(name):
    family = FAMILIES[name]
    function = registry()[name]
    assert family.parameters == function.__code__.co_varnames[: function.__code__.co_argcount]
    if name not in OLDER:
        for specialization in signatures.families()[name].specializations:
            assert family.parameters == tuple(x.name for x in specialization.arguments)
    for kernel, parameters in family.source.kernels.items():
        assert set(parameters) <= set(family.types), kernel


@pytest.mark.parametrize("name", FAMILIES)
def test_every_kernel_is_launched_and_looks_at_the_word_first(name):
    source = FAMILIES[name].source
    bodies = source.text.split("__global__")[1:]
    assert len(bodies) == len(source.kernels) > 0
    for body in bodies:
        first = body[body.index("{") + 1 :].strip()
        assert first.startswith("if (errorflag_skip(word, base)) return;"), body.splitlines()[0]
    launched = set(FAMILIES[name].function.__code__.co_consts) & set(source.kernels)
    assert launched == set(source.kernels)


def test_a_file_without_messages_is_an_error(tmp_path):
    source = _source.Source("nothing")
    source.path = tmp_path / "nothing.cu"
    source.path.write_text('#include "common.cuh"\n')
    with pytest.raises(ValueError, match="must begin with a line '// errors: "):
        _ = source.errors


def test_the_digest_depends_on_what_is_compiled():
    source = FAMILIES["awkward_ListArray_validity"].source
    digests = {
        source.digest({"C": "q"}, "sm_90"),
        source.digest({"C": "i"}, "sm_90"),
        source.digest({"C": "q"}, "sm_75"),
        FAMILIES["awkward_ListArray_rpad_axis1"].source.digest({"C": "q"}, "sm_90"),
    }
    assert len(digests) == 4
    assert source.digest({"C": "q"}, "sm_90") == source.digest({"C": "l"}, "sm_90")


def test_importing_and_registering_compile_nothing():
    """Nor is CuPy or a compiler imported: that is for the first call."""
    code = """
import sys
import legacy_cu
legacy_cu.kernels()
assert not {"cupy", "cuda.core", "numba"} & set(sys.modules), sorted(sys.modules)
assert not [name for name in sys.modules if name.partition(".")[0] in ("primitives", "awkward")]
import awkward_cudakernels
awkward_cudakernels.register("cpu")
assert "cuda.core" not in sys.modules
with awkward_cudakernels.legacy("all"):
    assert awkward_cudakernels.status()["raw"] == {"available": 35, "in_force": 35}
assert "legacy_cu._device" not in sys.modules
assert "cuda.core" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_wrong_number_of_arguments():
    family = FAMILIES["awkward_ListArray_validity"]
    assert repr(family) == "<raw kernel awkward_ListArray_validity(starts, stops, length, lencontent)>"
    with pytest.raises(TypeError, match="awkward_ListArray_validity takes 4 arguments; 1 given"):
        family(1)
