import sys

import pytest
from click.testing import CliRunner

from awkward_cudakernels import awkward_suite

TESTS = """
import awkward as ak
import pytest

MADE_ON_IMPORT = ak.Array([[1, 2], [3]])


def test_same():
    assert ak.sum(MADE_ON_IMPORT, axis=1).to_list() == [3, 3]


def test_fails_with_both():
    assert False


def test_only_stock():
    assert type(MADE_ON_IMPORT.layout.backend).__name__ == "NumpyBackend"


def test_only_ours():
    assert type(MADE_ON_IMPORT.layout.backend).__name__ == "HostBackend"


@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.fixture
def tests(tmp_path):
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_few.py").write_text(TESTS)
    return folder


def test_outcomes_are_those_of_the_registered_backend(tests):
    found, seconds = awkward_suite.run(tests, "cpu", ["-q", "-n", "2"])
    assert {name.rpartition("::")[2]: outcome for name, outcome in found.items()} == {
        "test_same": "passed",
        "test_fails_with_both": "failed",
        "test_only_stock": "failed",
        "test_only_ours": "passed",
        "test_skipped": "skipped",
    }
    assert seconds > 0


def test_command_names_what_passes_with_stock_only(tests):
    result = CliRunner().invoke(awkward_suite.main, [str(tests), "-q"])
    assert result.exit_code == 1
    assert "1 pass with awkward's own kernels only\n  tests/test_few.py::test_only_stock\n" in result.output
    assert "awkward  2 passed, 1 skipped, 2 failed" in result.output


def test_command_passes_arguments_to_pytest(tests):
    result = CliRunner().invoke(awkward_suite.main, [str(tests), "--no-stock", "-k", "same", "-W", "error"])
    assert result.exit_code == 0, result.output
    assert "1 passed" in result.output


def test_tests_that_cannot_be_imported_are_failures(tests):
    (tests / "test_few.py").write_text("import no_such_module")
    found, _ = awkward_suite.run(tests, "cpu", ["-q"])
    assert found == {"tests/test_few.py": "failed"}


def test_command_says_that_pytest_has_not_run(tests, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = CliRunner().invoke(awkward_suite.main, [str(tests)])
    assert result.exit_code == 1
    assert "pytest has not run" in result.output
