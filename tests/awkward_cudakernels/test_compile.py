"""Every op of every kernel, compiled for GPUs that need not be here.

For sm_90 in every dtype, for the other architectures in one each. What is compiled goes to the disk
cache, as `awkward-cudakernels warm` would put it there: a second run takes seconds.
"""

from __future__ import annotations

import functools

import pytest

from awkward_cudakernels import _warm, registry
from primitives import _compilers, _device

pytestmark = pytest.mark.compile

FAMILIES = sorted(registry())
OTHERS = ("sm_75", "sm_80", "sm_100", "sm_120")


def compile_all(builds, arch):
    known = _compilers.architectures()
    if arch not in known:
        pytest.skip(f"the installed NVRTC does not know {arch}: it knows {', '.join(known)}")
    for build in builds:
        cubin = _device.build(build.template, dict(build.variant), build.ops, build.groups, arch)
        assert cubin[:4] == b"\x7fELF"
        for kernel in build.template.kernels:
            assert f".text.{kernel}\0".encode() in cubin


def code(build):
    """The template with its ops; two ops of the same code are one."""
    return build.template, tuple((op.fingerprint(), len(op.errors)) for op in build.ops)


@functools.cache
def representatives():
    """One build for each template with its ops."""
    found = {}
    for build in _warm.builds():
        found.setdefault(code(build), build)
    return found


def distinct(builds):
    return {_warm.identity(build): build for build in builds}.values()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_dtype(family):
    builds = distinct(_warm.builds_of(family, registry()[family]))
    assert builds
    compile_all(builds, "sm_90")


@pytest.mark.parametrize("arch", OTHERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_one_dtype(family, arch):
    builds = _warm.builds_of(family, registry()[family])
    keys = dict.fromkeys(code(build) for build in builds)
    compile_all([representatives()[key] for key in keys], arch)


@functools.cache
def others():
    """What is no kernel's: the array layer, and sorting where segments are long."""
    kernels = {
        _warm.identity(build) for family in FAMILIES for build in _warm.builds_of(family, registry()[family])
    }
    return [build for build in _warm.builds() if _warm.identity(build) not in kernels]


@pytest.mark.parametrize("arch", ["sm_90", *OTHERS])
def test_what_is_no_kernel(arch):
    builds = others()
    if arch != "sm_90":
        builds = {code(build): build for build in builds}.values()
    assert builds
    compile_all(builds, arch)
