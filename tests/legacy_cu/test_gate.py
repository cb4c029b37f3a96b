"""The written rule, the inputs that it is applied on, and (on a GPU) the measurement."""

import emulation
import harness
import numpy as np
import pytest
from raw import OLDER, types_of

import awkward_cudakernels
import legacy_cu
from awkward_cudakernels import _gate_inputs, gate
from awkward_cudakernels.bench import against_legacy, tables
from awkward_cudakernels.bench.settings import Settings
from awkward_cudakernels.gate import Row, Side, verdict


def row(lists, primitives, raw=(10.0, 10.0), family="f", **found):
    return Row(family, lists, Side(*primitives, **found), Side(*raw))


def rows(*ratios, family="f"):
    """One row for each size, with these ratios of the device's part."""
    return [
        row(lists, (1.0, 10 * ratio), family=family) for lists, ratio in zip(gate.SIZES, ratios, strict=True)
    ]


# The rule


def test_keeps_at_the_limit_and_below():
    found = verdict(rows(1.03, 0.5, 1.0))
    assert found.keep
    assert found.reasons == ()
    assert found.ratios == {1_000: 1.03, 200_000: 0.5, 2_000_000: 1.0}
    assert str(found) == "keep"


@pytest.mark.parametrize("place", range(3))
def test_reverts_above_the_limit_at_any_size(place):
    ratios = [0.1, 0.1, 0.1]
    ratios[place] = 1.031
    found = verdict(rows(*ratios))
    assert not found.keep
    assert str(found) == f"revert: 1.031 times raw at {gate.SIZES[place]:,} lists"


@pytest.mark.parametrize(
    ("primitives", "raw", "ratio"),
    [
        ((10, 1), (10, 1), 1.0),
        ((20, 1), (10, 1), 2.0),
        ((1, 20), (1, 10), 2.0),
        # The host waits for the device or the other way round: what is faster does not count.
        ((9, 10), (1, 10), 1.0),
        ((10, 9), (10, 1), 1.0),
        ((5, 1), (1, 10), 0.5),
        ((1, 30), (20, 1), 1.5),
    ],
)
def test_the_cost_of_a_call_is_the_greater_part(primitives, raw, ratio):
    assert row(1_000, primitives, raw).ratio == ratio


def test_first_calls_do_not_count():
    found = [row(lists, (1, 1), first_cold_ms=1e6, first_warm_ms=1e6) for lists in gate.SIZES]
    assert verdict(found).keep


@pytest.mark.parametrize("what", ["synchronizations", "recompilations"])
def test_what_never_amortizes_reverts(what):
    """However fast the calls are: the two failures that this rule was written after."""
    found = [row(lists, (0.1, 0.1), **{what: int(lists == 200_000)}) for lists in gate.SIZES]
    assert str(verdict(found)) == f"revert: 1 {what}"


def test_the_raw_kernel_may_wait():
    found = [Row("f", lists, Side(1, 1), Side(1, 1, 3, 10)) for lists in gate.SIZES]
    assert verdict(found).keep


def test_all_reasons_are_given():
    found = rows(2.0, 1.0, 3.0)
    found[0] = row(1_000, (1.0, 20.0), synchronizations=2)
    assert verdict(found).reasons == (
        "2.000 times raw at 1,000 lists",
        "3.000 times raw at 2,000,000 lists",
        "2 synchronizations",
    )


def test_the_order_of_rows_does_not_matter():
    assert verdict(rows(1, 2, 3)[::-1]) == verdict(rows(1, 2, 3))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "rows of one family"),
        (rows(1, 1, 1) + rows(1, 1, 1, family="g"), "rows of one family"),
        (rows(1, 1, 1)[:2], r"missing: \[2000000\]"),
        (rows(1, 1, 1) + rows(1, 1, 1)[:1], "one row for each size"),
        ([*rows(1, 1, 1)[:2], row(2_000_000, (float("nan"), 1))], "are not times"),
        ([*rows(1, 1, 1)[:2], row(2_000_000, (1, 1), (0, 0))], "are not times"),
        ([*rows(1, 1, 1)[:2], row(2_000_000, (-1, 1))], "are not times"),
    ],
)
def test_nothing_is_decided_on_less_than_the_rule_needs(found, message):
    with pytest.raises(ValueError, match=message):
        verdict(found)


def test_other_sizes_can_be_asked_for():
    assert verdict(rows(1, 1, 1)[:2], sizes=(1_000, 200_000)).keep


# The inputs


def test_inputs_for_every_family():
    assert set(_gate_inputs._MAKERS) == set(legacy_cu.kernels())


def test_which_specialization():
    assert _gate_inputs.specialization(OLDER[0]) is None
    for family in set(legacy_cu.kernels()) - set(OLDER):
        name = _gate_inputs.specialization(family).name
        assert "U32" not in name and "32_" not in name
    nestedfill = _gate_inputs.specialization("awkward_UnionArray_nestedfill_tags_index")
    assert nestedfill.name == "awkward_UnionArray8_64_nestedfill_tags_index_64"


def outputs(inputs):
    return [x.tolist() for x in [*inputs.arguments, *inputs.kept] if isinstance(x, np.ndarray)]


@pytest.mark.parametrize("lists", [1, 1_000])
@pytest.mark.parametrize("family", legacy_cu.kernels())
def test_inputs_are_valid_and_calls_can_be_repeated(family, lists):
    """The same as awkward's compiled kernel does; and the second call the same as the first."""
    raw = legacy_cu.kernels()[family]
    values = _gate_inputs._MAKERS[family](_gate_inputs.Draw(lists, 1))
    assert tuple(values) == raw.parameters
    inputs = _gate_inputs.make(family, lists, device=False, seed=1)
    specialization = _gate_inputs.specialization(family)
    if specialization is None:
        kernel = awkward_cudakernels.registry()[family]
    else:
        kernel = awkward_cudakernels.kernel_for(specialization.key, "host")
    assert kernel(*inputs.arguments) is None
    first = outputs(inputs)
    inputs.restore()
    assert kernel(*inputs.arguments) is None
    if family != "awkward_RegularArray_combinations_64":  # an address is compared by what is there
        assert outputs(inputs) == first
    if specialization is None or "RegularArray_combinations" in family or "UnionArray_flatten" in family:
        return  # in awkward's backend these take pointers of another kind
    other = _gate_inputs.make(family, lists, device=False, seed=1)
    result = harness.oracle(specialization.key, "host")(*other.arguments)
    assert result is None or result.str is None
    assert outputs(other) == first


@pytest.mark.skipif(emulation.COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("family", legacy_cu.kernels())
def test_both_implementations_do_the_same_on_them(family, tmp_path):
    raw = legacy_cu.kernels()[family]
    one, two = (_gate_inputs.make(family, 500, device=False) for _ in range(2))
    awkward_cudakernels.registry()[family](*one.arguments)
    specialization = _gate_inputs.specialization(family)
    types = {} if specialization is None else types_of(raw, specialization)
    launcher = emulation.Launcher(raw, types, tmp_path, False)
    raw.function(launcher, *two.arguments)
    assert launcher.error() is None
    for left, right in zip([*one.arguments, *one.kept], [*two.arguments, *two.kept], strict=True):
        if isinstance(left, np.ndarray) and not _is_addresses(one, left):
            assert np.array_equal(left, right)


def _is_addresses(inputs, array):
    pointers = [x.ctypes.data for x in inputs.kept]
    return bool(pointers) and array.tolist() == pointers


# bench --against legacy


def test_rows_for_bench(monkeypatch):
    calls = []

    def measure(family, sizes, first, say):
        calls.append((family, sizes))
        if family.endswith("rpad_axis1"):
            raise RuntimeError("no luck")
        return [row(n, (5.0, 1.0), family=family) for n in sizes]

    monkeypatch.setattr(gate, "measure", measure)
    monkeypatch.setattr(gate, "first_calls", lambda families, say: {})
    settings = Settings(device=True, only="ListArray_validity|ListArray_rpad_axis1")
    found = list(against_legacy.rows(settings, lambda what: None))
    assert {sizes for _, sizes in calls} == {gate.SIZES}
    assert [x["row"] for x in found] == ["awkward_ListArray_rpad_axis1", *["awkward_ListArray_validity"] * 3]
    assert found[0]["error"] == "RuntimeError: no luck"
    assert found[1]["ratio"] == 0.5
    assert found[1]["verdict"] == "keep"

    about = {"section": "against", "kind": "time", "side": "legacy"}
    table = tables.against(tables.Rows([{**about, **x} for x in found[1:]]))
    assert table.columns[:4] == ["", "lists", "primitives host, µs", "raw host, µs"]
    assert table.columns[-2:] == ["ratio", "verdict"]
    assert table.rows[0][-2:] == ["0.500", "keep"]


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(gate.environment, "why_no_cuda", lambda: "this machine has none")
    with pytest.raises(RuntimeError, match="measured on a GPU, and this machine has none"):
        gate.measure("awkward_ListArray_validity")


# On a GPU


@pytest.mark.parametrize(
    ("turns", "expected", "measured"),
    [
        ([(9.0, 5.0)], 0.9, 1),
        ([(12.0, 5.0), (9.5, 5.0), (9.4, 5.0)], 0.95, 3),  # something else was going on at first
        ([(12.0, 5.0), (11.0, 5.0), (11.5, 5.0), (11.0, 4.0), (11.0, 5.0), (9.0, 5.0)], 1.1, 5),
        ([(9.0, 12.0), (9.0, 10.2)], 1.02, 2),
    ],
)
def test_where_the_limit_is_exceeded_there_are_more_turns(monkeypatch, turns, expected, measured):
    made = []

    def times(family, lists):
        host, device = turns[len(made)]
        made.append(family)
        slow = len(made)  # the host, for both
        return {"primitives": ([host * slow], device, 0), "raw": ([10.0 * slow], 4.0, 0)}

    monkeypatch.setattr(gate, "_check", lambda families: None)
    monkeypatch.setattr(gate, "_recompilations", lambda family, side: 0)
    monkeypatch.setattr(gate, "_times", times)
    (row,) = gate.measure("awkward_ListArray_validity", (1_000,), {})
    assert row.ratio == pytest.approx(expected)
    assert len(made) == measured


@pytest.mark.gpu
@pytest.mark.slow
def test_measuring():
    found = gate.measure("awkward_ListArray_validity", sizes=(1_000,))
    (one,) = found
    for side in (one.primitives, one.raw):
        assert 0 < side.host_us < 1000
        assert 0 < side.device_us < 1000
        assert side.first_cold_ms > side.first_warm_ms > 0
        assert (side.synchronizations, side.recompilations) == (0, 0)
    assert verdict(found, (1_000,)).ratios


@pytest.mark.gpu
def test_what_waits_and_what_recompiles_is_seen():
    import cupy

    array = cupy.zeros(10)
    assert gate._waits(lambda: float(array[0]))
    assert not gate._waits(lambda: array.fill(0))
    assert gate._waits(lambda: cupy.cuda.get_current_stream().synchronize())


@pytest.mark.gpu
def test_every_family_takes_its_inputs_on_the_device():
    import cupy

    import errorflag

    for family in legacy_cu.kernels():
        one, two = (_gate_inputs.make(family, 700) for _ in range(2))
        for side, inputs in (("primitives", one), ("raw", two)):
            with gate._implementation(family, side) as kernel:
                kernel(*inputs.arguments)
                errorflag.synchronize()
        pairs = zip([*one.arguments, *one.kept], [*two.arguments, *two.kept], strict=True)
        addresses = [x.data.ptr for x in one.kept]
        for left, right in pairs:
            if isinstance(left, cupy.ndarray) and left.tolist() != addresses:
                assert (left == right).all(), family
