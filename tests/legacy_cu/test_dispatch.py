"""The table of implementations; calls are recorded, so nothing here needs a GPU."""

import gc
import threading
import warnings

import awkward_cpp.cpu_kernels
import numpy as np
import pytest

import awkward_cudakernels
from awkward_cudakernels import _backend, _dispatch, legacy, registry, signatures, status

VALIDITY = "awkward_ListArray_validity"
NEXT_AT = "awkward_ListArray_getitem_next_at"


@pytest.fixture(autouse=True)
def no_setting(monkeypatch):
    monkeypatch.delenv(_dispatch.VARIABLE, raising=False)
    _dispatch._environment.cache_clear()
    yield
    _dispatch._environment.cache_clear()


def device_kernel(family):
    specialization = signatures.families()[family].specializations[0]
    return awkward_cudakernels.kernel_for(specialization.key, "device")


def is_raw(kernel):
    raw = _dispatch.raw_kernels()[kernel.name]
    assert kernel._impl in (raw, registry()[kernel.name])
    return kernel._impl is raw


def test_primitives_by_default():
    assert _dispatch.in_force() == frozenset()
    assert not is_raw(device_kernel(VALIDITY))
    assert set(status()["implementations"].values()) == {"primitives"}


def test_a_context_switches_kernels_that_exist_and_new_ones():
    before, other = device_kernel(VALIDITY), device_kernel(NEXT_AT)
    with legacy(VALIDITY):
        assert is_raw(before)
        assert is_raw(device_kernel(VALIDITY))
        assert not is_raw(other)
        assert status()["families"]["legacy_cu"] == 1
        assert status()["implementations"][VALIDITY] == "legacy_cu"
    assert not is_raw(before)
    assert status()["families"]["legacy_cu"] == 0


def test_all():
    with legacy("all"):
        assert status()["raw"] == {"available": 35, "in_force": 35}
        assert status()["families"] == {"total": 144, "primitives": 111, "legacy_cu": 33, "missing": 0}
        assert sum(row["raw_in_force"] for row in status()["migration"]) == 35
    assert status()["raw"] == {"available": 35, "in_force": 0}


def test_nested_contexts_add_up():
    kernel, other = device_kernel(VALIDITY), device_kernel(NEXT_AT)
    with legacy(VALIDITY, NEXT_AT):
        with legacy(VALIDITY):
            pass
        assert is_raw(kernel)
        assert is_raw(other)
    assert not is_raw(kernel)


def test_an_error_in_the_block_switches_back():
    kernel = device_kernel(VALIDITY)
    with pytest.raises(KeyError), legacy(VALIDITY):
        raise KeyError
    assert not is_raw(kernel)


def test_overlapping_threads():
    """A family is raw while any thread asks for it, whoever leaves first."""
    kernel = device_kernel(VALIDITY)
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with legacy("all"):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    with legacy(VALIDITY):
        thread.start()
        assert entered.wait(10)
    assert is_raw(kernel)
    leave.set()
    thread.join()
    assert not is_raw(kernel)


def test_many_threads():
    kernels = [device_kernel(VALIDITY) for _ in range(50)]

    def switch():
        for _ in range(200):
            with legacy(VALIDITY):
                assert all(map(is_raw, kernels))

    threads = [threading.Thread(target=switch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(map(is_raw, kernels))
    assert _dispatch._entered == []


def test_kernels_are_not_kept_alive():
    kernel = device_kernel(VALIDITY)
    gc.collect()
    alive = len(_dispatch._bound)
    del kernel
    gc.collect()
    assert len(_dispatch._bound) == alive - 1


def test_the_environment_variable(monkeypatch):
    monkeypatch.setenv(_dispatch.VARIABLE, f" {VALIDITY}, {NEXT_AT},")
    assert _dispatch.in_force() == {VALIDITY, NEXT_AT}
    assert is_raw(device_kernel(VALIDITY))
    with legacy(VALIDITY):
        pass
    assert is_raw(device_kernel(VALIDITY))


def test_the_environment_variable_with_all(monkeypatch):
    monkeypatch.setenv(_dispatch.VARIABLE, "all")
    assert len(_dispatch.in_force()) == 35


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("awkward_ListArray_validty", "did you mean awkward_ListArray_validity"),
        ("getitem_next_at", f"did you mean {NEXT_AT}?"),
        ("al", "did you mean"),
        ("zzzzzz", "see awkward_"),
        ("awkward_reduce_sum", "awkward_reduce_sum has no raw kernel, only the one on the primitives"),
    ],
)
def test_an_unknown_name_lists_near_ones(name, hint, monkeypatch):
    with pytest.raises(ValueError, match=hint), legacy(name):
        pass
    assert _dispatch._entered == []
    monkeypatch.setenv(_dispatch.VARIABLE, name)
    with pytest.raises(ValueError, match=f"{_dispatch.VARIABLE}: .*{hint}"):
        _dispatch.in_force()


def test_the_host_executor_takes_no_notice():
    key = signatures.families()[VALIDITY].specializations[0].key
    starts, stops = np.zeros(3, key[1]), np.ones(3, key[1])
    with legacy("all"):
        kernel = awkward_cudakernels.kernel_for(key, "host")
        assert kernel._impl is registry()[VALIDITY]
        assert kernel(starts, stops, 3, 1) is None
        assert kernel(starts, stops, 3, 0).str == b"stop[i] > len(content)"


# An awkward with other kernels than the table has


@pytest.fixture
def another_awkward(monkeypatch):
    """One kernel more, and one with an argument less."""
    installed = dict(awkward_cpp.cpu_kernels.kernel)
    key = signatures.families()[VALIDITY].specializations[0].key
    changed = installed[key]

    class Changed:
        __name__ = changed.__name__
        argtypes = changed.argtypes[:-1]
        dir = changed.dir[:-1]

    installed[key] = Changed()
    installed["awkward_new", np.int8] = changed
    monkeypatch.setattr(awkward_cpp.cpu_kernels, "kernel", installed)
    signatures.unlike_installed.cache_clear()
    _backend._warn_of_unlike_kernels.cache_clear()
    yield key
    awkward_cudakernels.unregister()
    signatures.unlike_installed.cache_clear()
    _backend._warn_of_unlike_kernels.cache_clear()


def test_register_warns_once_and_falls_back(another_awkward):
    from awkward._backends.numpy import NumpyBackend

    with pytest.warns(UserWarning, match="2 of the installed awkward's kernels") as caught:
        awkward_cudakernels.register("cpu")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    backend = NumpyBackend.instance()
    assert not isinstance(backend[another_awkward], awkward_cudakernels._registry.HostKernel)
    assert not isinstance(backend["awkward_new", np.int8], awkward_cudakernels._registry.HostKernel)
    other = signatures.families()[VALIDITY].specializations[1].key
    assert isinstance(backend[other], awkward_cudakernels._registry.HostKernel)
    awkward_cudakernels.unregister()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        awkward_cudakernels.register("cpu")


def test_status_and_doctor_list_them(another_awkward):
    from awkward_cudakernels import doctor

    lines = status()["unlike"]
    assert any("awkward_new[int8]: not in kernels.json" in line for line in lines)
    check = doctor._kernel_table()
    assert check.state == "wrong"
    assert all(line in check.found for line in lines)


def test_no_warning_with_the_awkward_of_the_table(recwarn):
    _backend._warn_of_unlike_kernels.cache_clear()
    awkward_cudakernels.register("cpu")
    awkward_cudakernels.unregister()
    assert [str(x.message) for x in recwarn] == []
