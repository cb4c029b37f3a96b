import awkward_cpp.cpu_kernels
import numpy as np
import pytest

from awkward_cudakernels import signatures


def test_counts():
    assert len(signatures.families()) == 144
    assert len(signatures.specializations()) == 494
    assert sum(len(x.specializations) for x in signatures.families().values()) == 494


def test_equal_to_the_installed_awkward():
    assert signatures.compare_with_installed() == []


def test_every_difference_is_named():
    installed = dict(awkward_cpp.cpu_kernels.kernel)
    keys = list(installed)
    gone, changed = keys[0], keys[7]
    other = installed[keys[5]]
    del installed[gone]
    installed["awkward_new", np.int8] = other
    installed[changed] = other
    lines = signatures._differences(signatures.specializations(), installed)
    assert any(x.startswith(gone[0]) and "not in the installed awkward" in x for x in lines)
    assert any(x.startswith("awkward_new[int8]") and "not in kernels.json" in x for x in lines)
    assert any(x.startswith(changed[0]) and "symbol" in x for x in lines)
    assert any(x.startswith(changed[0]) and "argument" in x for x in lines)


@pytest.mark.parametrize(
    ("type", "dtype", "depth"),
    [
        ("bool", np.bool_, 0),
        ("Const[int64_t]", np.int64, 0),
        ("List[double]", np.float64, 1),
        ("Const[List[uint8_t]]", np.uint8, 1),
        ("List[List[int64_t]]", np.int64, 2),
    ],
)
def test_types(type, dtype, depth):
    argument = signatures.Argument("x", type, "in", None)
    assert argument.dtype == dtype
    assert argument.depth == depth


def test_key_and_name():
    specialization = signatures.specializations()[
        "awkward_ListArray_getitem_next_at", np.int64, np.uint32, np.uint32
    ]
    assert str(specialization) == "awkward_ListArray_getitem_next_at[int64-uint32-uint32]"
    assert specialization.arguments[-1].name == "at"
