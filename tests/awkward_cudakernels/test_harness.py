"""The harness must find what is wrong: broken copies of the oracle, and cases that are not legal."""

import ctypes
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import generators
import harness
import numpy as np
import pytest
from harness import Case, Out, Rules

from awkward_cudakernels.signatures import families

FAMILIES = [pytest.param(x, id=x.name) for x in families().values()]

#: Outputs that are only workspaces of the compiled kernels: nothing reads them afterwards, so they are not compared.
WORKSPACES = {
    ("awkward_ListArray_combinations", "toindex"),
    ("awkward_RegularArray_combinations_64", "toindex"),
    ("awkward_ListOffsetArray_reduce_nonlocal_nextshifts_64", "nummissing"),
    ("awkward_ListOffsetArray_reduce_nonlocal_nextshifts_64", "missing"),
}


def found(specialization, implementation):
    """Whether any case of the specialization sees something wrong with the implementation."""
    return any(harness.problems(case, "host", implementation) for case in harness.cases(specialization))


def outputs(specialization):
    return [
        i
        for i, x in enumerate(specialization.arguments)
        if x.direction == "out" and x.depth == 1 and (specialization.family, x.name) not in WORKSPACES
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_equals_itself(family):
    assert list(harness.all_problems(family.specializations[-1], "host", harness.oracle)) == []


def _broken(position, change):
    """The oracle, after which ``change(array, i)`` spoils the last element that it wrote to one argument."""

    def implementation(key, executor):
        def kernel(*arguments):
            array = arguments[position]
            before = array.copy()
            result = harness.oracle(key, executor)(*arguments)
            raw = [x.view(np.uint8).reshape(len(array), array.itemsize) for x in (array, before)]
            where = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
            if len(where):
                change(array, where[-1], before)
            return result

        return kernel

    return implementation


@pytest.mark.parametrize("family", FAMILIES)
def test_an_element_left_unwritten_is_found(family):
    def change(array, i, before):
        array[i] = before[i]

    specialization = family.specializations[0]
    for position in outputs(specialization):
        assert found(specialization, _broken(position, change)), specialization.arguments[position].name


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_element_is_found(family):
    def change(array, i, before):
        # The last byte: the sign of a number, half of the range of an unsigned one.
        array.view(np.uint8)[(i + 1) * array.itemsize - 1] ^= 0x81 if array.dtype != bool else 1

    # The last specialization; of this family the unsigned one, which has no Nones to write.
    last = -2 if family.name == "awkward_IndexedArray_index_of_nulls" else -1
    specialization = family.specializations[last]
    for position in outputs(specialization):
        assert found(specialization, _broken(position, change)), specialization.arguments[position].name


KEEPING = [x for x in FAMILIES if generators.GENERATORS[x.values[0].name][1].keeps]


@pytest.mark.parametrize("family", KEEPING)
def test_an_element_of_another_call_is_found(family):
    """These fill a part of their outputs: what they leave alone must stay."""

    def change(array, i, before):
        array.view(np.uint8)[(i + 1) * array.itemsize - 1] ^= 1

    def implementation(position):
        def for_key(key, executor):
            def kernel(*arguments):
                array = arguments[position]
                before = array.copy()
                result = harness.oracle(key, executor)(*arguments)
                where = np.flatnonzero(array == before)
                if len(where):
                    change(array, where[-1], before)
                return result

            return kernel

        return for_key

    specialization = family.specializations[0]
    for position in outputs(specialization):
        if specialization.arguments[position].name not in ("tmpstarts", "tostops"):
            assert found(specialization, implementation(position))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("where", ["before", "after"])
def test_a_write_outside_of_an_array_is_found(family, where):
    def spoil(array):
        address = (
            array.ctypes.data - array.itemsize if where == "before" else array.ctypes.data + array.nbytes
        )
        ctypes.memset(address, 0, 1)

    specialization = family.specializations[0]
    for position, argument in enumerate(specialization.arguments):
        if argument.depth != 1:
            continue

        def implementation(key, executor, position=position):
            def kernel(*arguments):
                result = harness.oracle(key, executor)(*arguments)
                spoil(arguments[position])
                return result

            return kernel

        case = next(x for x in harness.cases(specialization)[::-1] if len(x.make()[position]))
        assert harness.problems(case, "host", implementation), argument.name


@pytest.mark.parametrize("family", [x for x in FAMILIES if x.values[0].errors])
@pytest.mark.parametrize(
    "change",
    [
        lambda error: None,
        lambda error: SimpleNamespace(str=error.str + b".", id=error.id, attempt=error.attempt),
        lambda error: SimpleNamespace(str=error.str, id=error.id, attempt=12345),
        lambda error: SimpleNamespace(str=error.str, id=error.id + 1, attempt=error.attempt),
    ],
    ids=["none", "message", "attempt", "index"],
)
def test_a_wrong_error_is_found(family, change, request):
    def implementation(key, executor):
        def kernel(*arguments):
            error = harness.oracle(key, executor)(*arguments)
            if error.str is None or (error.id == harness.NONE and "index" in request.node.callspec.id):
                return error
            return change(error)

        return kernel

    specialization = family.specializations[-1]
    cases = [x for x in harness.cases(specialization) if x.expected.error is not None]
    if all(x.expected.error[1] is None for x in cases) and request.node.callspec.id.startswith("index"):
        pytest.skip("the compiled kernel reports no element")
    assert any(harness.problems(x, "host", implementation) for x in cases)


def test_an_invented_error_is_found():
    def implementation(key, executor):
        return lambda *arguments: SimpleNamespace(str=b"index out of range", id=0, attempt=0)

    assert found(families()["awkward_localindex"].specializations[0], implementation)


def test_the_second_error_is_found():
    def implementation(key, executor):
        kernel = harness.oracle(key, executor)

        def second(tocarry, starts, stops, length, at):
            error = kernel(tocarry, starts, stops, length, at)
            if error.str is not None and error.id + 1 < length:
                skip = error.id + 1
                later = kernel(tocarry[skip:], starts[skip:], stops[skip:], length - skip, at)
                if later.str is not None:
                    return SimpleNamespace(str=later.str, id=later.id + skip, attempt=later.attempt)
            return error

        return second

    assert found(families()["awkward_ListArray_getitem_next_at"].specializations[0], implementation)


def test_a_changed_input_is_found():
    def implementation(key, executor):
        def kernel(toptr, fromptr, offsets, outlength):
            result = harness.oracle(key, executor)(toptr, fromptr, offsets, outlength)
            fromptr[:1] += 1
            return result

        return kernel

    assert found(families()["awkward_reduce_sum"].specializations[0], implementation)


@pytest.mark.parametrize(
    "family", ["awkward_reduce_sum", "awkward_reduce_prod", "awkward_reduce_sumofsquares"]
)
def test_a_lost_digit_is_found(family):
    """A sum accumulated in float32 is not one accumulated in float64."""
    specialization = next(
        x for x in families()[family].specializations if x.key[1:3] == (np.float64, np.float64)
    )

    def implementation(key, executor):
        def kernel(toptr, *rest):
            result = harness.oracle(key, executor)(toptr, *rest)
            with np.errstate(over="ignore"):
                toptr[:] = toptr.astype(np.float32)
            return result

        return kernel

    assert found(specialization, implementation)


@pytest.mark.parametrize(
    "family", ["awkward_reduce_sum", "awkward_reduce_sum_complex", "awkward_reduce_prod"]
)
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_another_order_is_not_a_difference(family, scalar):
    specialization = next(
        x for x in families()[family].specializations if x.key[1] == scalar and x.key[2] == scalar
    )
    width = 2 if "complex" in family else 1

    def implementation(key, executor):
        def kernel(toptr, fromptr, offsets, outlength):
            backwards = fromptr.reshape(-1, width).copy()
            for start, stop in zip(offsets[:-1], offsets[1:]):
                backwards[start:stop] = backwards[start:stop][::-1].copy()
            return harness.oracle(key, executor)(toptr, backwards.reshape(-1), offsets, outlength)

        return kernel

    assert not found(specialization, implementation)


@pytest.mark.parametrize("family", ["awkward_sort", "awkward_argsort"])
def test_ties_out_of_order_are_found_only_if_stable(family):
    specialization = next(x for x in families()[family].specializations if x.arguments[1].dtype == np.float64)

    def implementation(key, executor):
        def kernel(toptr, fromptr, length, offsets, offsetslength, ascending, stable):
            result = harness.oracle(key, executor)(
                toptr, fromptr, length, offsets, offsetslength, ascending, True
            )
            ends = np.minimum(offsets.astype(np.int64), length)
            for start, stop in zip(ends[:-1], ends[1:]):
                if stop - start > 1:
                    key_of = (fromptr[start:stop] if family == "awkward_argsort" else toptr[start:stop]) + 0.0
                    keys = key_of[toptr[start:stop]] if family == "awkward_argsort" else key_of
                    if keys[0] == keys[1]:
                        toptr[start : start + 2] = toptr[start : start + 2][::-1].copy()
            return result

        return kernel

    stable = [x for x in harness.cases(specialization) if x.values["stable"]]
    unstable = [x for x in harness.cases(specialization) if not x.values["stable"]]
    assert any(harness.problems(x, "host", implementation) for x in stable)
    assert not any(harness.problems(x, "host", implementation) for x in unstable)


def _case(name, values):
    return Case(families()[name].specializations[0], "by hand", values, 0, Rules())


def test_illegal_cases_are_refused():
    offsets = np.array([0, 2, 4], np.int64)
    with pytest.raises(harness.IllegalCase, match="toptr.* depends on memory outside"):
        _case("awkward_reduce_count_64", {"toptr": Out(3), "offsets": offsets, "outlength": 3}).expected
    with pytest.raises(harness.IllegalCase, match="memory outside the array was written"):
        _case("awkward_reduce_count_64", {"toptr": Out(1), "offsets": offsets, "outlength": 2}).expected


def _digest(seed):
    out = hashlib.sha256()
    for family in [*families().values()][::4]:
        for case in harness.cases(family.specializations[0], seed):
            out.update(str(case).encode())
            for block in case.make().blocks:
                out.update(block.view.tobytes())
    return out.hexdigest()


def test_cases_are_the_same_in_every_process():
    here = Path(__file__).parent
    code = (
        f"import sys; sys.path[:0] = [{str(here)!r}, *{sys.path!r}]; import importlib.util as u;"
        f"s = u.spec_from_file_location('h', {str(here / 'test_harness.py')!r}); m = u.module_from_spec(s);"
        f"s.loader.exec_module(m); print(m._digest({harness.SEED}))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert other.stdout.strip() == _digest(harness.SEED)
    assert _digest(harness.SEED) != _digest(harness.SEED + 1)


class _DeviceArray:
    """Just enough of a CuPy array for the harness: the memory is the host's."""

    def __init__(self, array):
        self._array = array
        self.data = SimpleNamespace(ptr=array.ctypes.data)

    def __getitem__(self, where):
        return _DeviceArray(self._array[where])

    def get(self):
        return self._array.copy()


@pytest.fixture
def device(monkeypatch):
    """The oracle as a device kernel: its error waits for ``errorflag.synchronize``. ``change`` spoils the error."""
    import errorflag

    pending = []
    settings = SimpleNamespace(change=lambda error: error)

    def synchronize():
        while pending:
            name, error = pending.pop()
            exception = ValueError(error.str.decode())
            exception.kernel, exception.message, exception.index = name, error.str.decode(), error.id
            raise exception

    def implementation(key, executor):
        assert executor == "device"

        def kernel(*arguments):
            host = [x._array if isinstance(x, _DeviceArray) else x for x in arguments]
            error = settings.change(harness.oracle(key, "host")(*host))
            if error.str is not None:
                pending.append((key[0], error))

        return kernel

    cupy = SimpleNamespace(asarray=lambda x: _DeviceArray(x.copy()))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(errorflag, "synchronize", synchronize)
    settings.implementation = implementation
    return settings


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_as_a_device_kernel(family, device):
    for case in harness.cases(family.specializations[0]):
        assert harness.problems(case, "device", device.implementation) == []


def test_device_errors_are_compared(device):
    specialization = families()["awkward_ListArray_getitem_next_at"].specializations[0]
    failing = [x for x in harness.cases(specialization) if x.expected.error is not None]
    for change in (
        lambda error: SimpleNamespace(str=None),
        lambda error: SimpleNamespace(str=b"other", id=error.id),
        lambda error: SimpleNamespace(str=error.str, id=error.id + 1),
    ):
        device.change = change
        assert all(harness.problems(x, "device", device.implementation) for x in failing)
