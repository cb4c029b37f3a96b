"""Every specialization of the signature table against awkward's compiled CPU kernel."""

import harness
import pytest

from awkward_cudakernels.signatures import families, specializations

SPECIALIZATIONS = [pytest.param(x, id=str(x)) for x in specializations().values()]


def _compare(specialization, executor):
    if specialization.family not in harness.implemented():
        pytest.skip("not implemented")
    lines = list(harness.all_problems(specialization, executor))
    if lines:
        more = f"\n... and {len(lines) - 20} more" if len(lines) > 20 else ""
        pytest.fail("\n".join(lines[:20]) + more, pytrace=False)


@pytest.mark.parametrize("specialization", SPECIALIZATIONS)
def test_host(specialization):
    _compare(specialization, "host")


@pytest.mark.gpu
@pytest.mark.parametrize("specialization", SPECIALIZATIONS)
def test_device(specialization):
    _compare(specialization, "device")


def test_every_specialization_has_cases():
    missing = [str(x) for x in specializations().values() if not harness.cases(x)]
    assert missing == []


@pytest.mark.parametrize("family", [x for x in families().values() if x.errors], ids=lambda x: x.name)
def test_every_message_is_produced(family):
    """Neither a message of the table without a case, nor one that the table does not have."""
    produced = {
        case.expected.error[0]
        for specialization in family.specializations
        for case in harness.cases(specialization)
        if case.expected.error is not None
    }
    assert produced == set(family.errors)


@pytest.mark.parametrize("family", [x for x in families().values() if not x.errors], ids=lambda x: x.name)
def test_no_other_message(family):
    assert not any(case.expected.error for case in harness.cases(family.specializations[0]))
