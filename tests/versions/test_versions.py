"""The matrix: its combinations, how it reads results, and the tables of docs/compatibility.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hive_views.spark.versions import ICEBERG_VARIABLE, SPARK_LINES
from tests.suites import EXTENDED
from tests.versions.combinations import COMBINATIONS, EXTENDED_PARTS, SUITE_SPARK, Table, in_turn, variables_of
from tests.versions.environments import REPOSITORY, MissingPythonError, find_python
from tests.versions.page import PAGE, render, with_tables
from tests.versions.results import Counts, Result, is_short, read_counts, read_results, write_results

RESULT = Result(
    name="spark-4.3-plain",
    python="3.11.7",
    versions={"pyspark": "4.3.0"},
    commit="0123456789abcdef",
    date="2026-11-28",
    passed=12,
    failed=0,
    skipped=3,
    seconds=125,
)


def test_each_version_of_spark_that_make_test_does_not_use_has_a_sample() -> None:
    names = [combination.name for combination in COMBINATIONS]
    assert len(set(names)) == len(names)
    for line, properties in SPARK_LINES.items():
        combinations = [c for c in COMBINATIONS if c.name.startswith(f"spark-{line}-")]
        assert len(combinations) == len(properties.iceberg) + 1
        assert sum(c.sample is not None for c in combinations) == (0 if line == SUITE_SPARK else 1)


def test_oldest_and_newest_python_have_a_sample() -> None:
    assert [c.name for c in COMBINATIONS if c.table is Table.PYTHON and c.sample is not None] == [
        "python-3.10",
        "python-3.13",
    ]


def test_each_server_has_a_combination() -> None:
    names = {c.name for c in COMBINATIONS if c.table is Table.METASTORES}
    assert {"metastore-2.3.10", "metastore-4.2.1", "metastore-4.2.1-postgresql", "metastore-3.1.3-mysql"} <= names
    assert [
        line
        for line in (REPOSITORY / "tests/versions/metastore_tests.txt").read_text().split()
        if not (REPOSITORY / line.removeprefix("--ignore=")).exists()
    ] == []


def test_each_extended_test_is_in_one_combination() -> None:
    suites = tuple(f"tests/integration/{name}" for name in ("spark", "hive", "trino", "docker"))
    places = [*suites, *(path for paths in EXTENDED_PARTS.values() for path in paths)]
    modules = [f"tests/{name}" for name in EXTENDED]
    marked = (path for path in (REPOSITORY / "tests").rglob("test_*.py") if "mark.extended" in path.read_text())
    modules += [str(path.relative_to(REPOSITORY)) for path in marked if path.parent.name != "versions"]
    for module in modules:
        assert [place for place in places if f"{module}/".startswith(f"{place}/")] != [], module
    assert all((REPOSITORY / place).is_dir() for place in places)


def test_long_or_failed_combination_has_no_turn() -> None:
    assert is_short(RESULT)
    assert not is_short(replace(RESULT, seconds=721))
    assert not is_short(replace(RESULT, failed=1))
    assert not is_short(None)


def test_combination_sets_the_release_of_iceberg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ICEBERG_VARIABLE, "0.0.1")
    by_name = {combination.name: combination for combination in COMBINATIONS}
    assert variables_of(by_name["spark-4.1-iceberg-1.11"])[ICEBERG_VARIABLE] == "1.11.0"
    assert ICEBERG_VARIABLE not in variables_of(by_name["spark-4.3-plain"])


def test_each_combination_has_its_turn() -> None:
    assert {in_turn(COMBINATIONS, number).name for number in range(len(COMBINATIONS))} == {c.name for c in COMBINATIONS}


@pytest.mark.parametrize(
    ("suites", "counts"),
    [
        ('<testsuite tests="5" failures="1" errors="1" skipped="1"/>', Counts(2, 2, 1)),
        ('<testsuite tests="2" failures="0" errors="0" skipped="0"/>', Counts(2, 0, 0)),
        ('<testsuite tests="0" failures="0" errors="0" skipped="0"/>', Counts(0, 1, 0)),
        ("", Counts(0, 1, 0)),
    ],
)
def test_counts_of_a_report(tmp_path: Path, suites: str, counts: Counts) -> None:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites>{suites}</testsuites>")
    assert read_counts(report) == counts


def test_missing_report_is_a_failure(tmp_path: Path) -> None:
    assert read_counts(tmp_path / "report.xml") == Counts(0, 1, 0)


def test_results_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    assert read_results(path) == {}
    write_results([RESULT], path)
    assert read_results(path) == {RESULT.name: RESULT}
    assert RESULT.is_complete


def test_table_names_what_was_not_tested() -> None:
    table = render(Table.SPARK, {RESULT.name: RESULT})
    assert "| spark-4.3-plain | Python 3.11.7, pyspark 4.3.0 |" in table
    assert "| 12 | 0 | 3 | 2 min 5 s | 2026-11-28, 01234567 |" in table
    assert "| spark-4.2-plain | | `tests/integration/spark` | *not tested* | | | | |" in table


def test_missing_python_is_named() -> None:
    with pytest.raises(MissingPythonError, match=r"no Python 9\.9 that can create virtual environments"):
        find_python("9.9")


def test_page_shows_the_recorded_results() -> None:
    text = PAGE.read_text()
    assert with_tables(text, read_results()) == text, "run `python -m tests.versions page`"


def test_page_without_a_place_for_a_table_is_rejected() -> None:
    with pytest.raises(ValueError, match="0 places for the table spark"):
        with_tables("", {})
