"""Every specialization compiles, with no GPU and no driver."""

import pytest
from raw import OLDER, SPECIALIZATIONS, types_of

import legacy_cu
from legacy_cu import _source

pytestmark = pytest.mark.compile

BUILDS = {(x.family, *sorted(types_of(legacy_cu.kernels()[x.family], x).items())) for x in SPECIALIZATIONS}
BUILDS |= {(name,) for name in OLDER}


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", legacy_cu.kernels())
def test_compiles(name, arch):
    source = legacy_cu.kernels()[name].source
    builds = [dict(types) for family, *types in BUILDS if family == name]
    assert builds
    for types in builds:
        names, cubin = _source.unpack(source.compile(types, arch))
        assert cubin.startswith(b"\x7fELF")
        assert set(names) == set(source.kernels)
        for symbol in names.values():
            assert symbol.encode() in cubin
