"""Options and invalid input of `hive-views import`."""

from __future__ import annotations

from pathlib import Path

import pytest

from hive_views.identifiers import ViewName
from hive_views.metastore.rows.serialization import encode_row
from tests.integration.cli.conftest import Done, cli
from tests.integration.legacy_import.rows import hive_view_row, trino_view_row

__all__ = ["cli"]

IDS = [("id", "bigint")]
OLD = {"transient_lastDdlTime": "1600000000"}
"""An old change time, so that swaps do not wait."""


@pytest.fixture
def legacy(add, sales) -> str:
    """A view on the table, one on that view, and one whose table is missing."""
    for name, below in (("old_base", "orders"), ("top", "old_base"), ("lost", "gone")):
        text = f"select `{below}`.`id` from `{sales}`.`{below}`"
        add(hive_view_row(sales, name, f"select id from {below}", text, IDS, **OLD))
    return sales


def test_import_to_renamed_database_and_revert(cli, legacy, other_database, catalog, everything, tmp_path):
    plan = str(tmp_path / "plan.json")
    before = everything()
    words = ("--rename", "old_*:new_*", "--rename", "odl_*:new_*", "--to-database", other_database.upper())
    planned = cli("import", "plan", legacy, *words, "--most-calls", "1", "-o", plan)
    assert (planned.code, planned.err) == (
        0,
        "Warning: --rename odl_*:new_* matches no view of the plan, and nothing that one reads\n",
    )
    cli("--json", "import", "run", plan, "--most-calls", "1")
    assert catalog.list_views(other_database) == [(other_database, "new_base"), (other_database, "top")]
    expected = f"select `old_base`.`id` from `{other_database}`.`new_base` AS `old_base`"
    assert catalog.load_view((other_database, "top")).expanded_text == expected
    changed = {key for key, value in everything().items() if before.get(key) != value}
    assert changed == {"row orders"}  # marked for lineage
    assert cli("--json", "import", "revert", "--yes", "-j", f"{plan}.journal").json["counts"] == {"reverted": 2}
    assert catalog.store.client.get_all_tables(other_database) == []


def test_plan_prints_a_summary_with_reasons_and_examples(cli, legacy, tmp_path):
    plan = str(tmp_path / "plan.json")
    summary = cli("import", "plan", legacy, "-o", plan).out.splitlines()
    assert summary[0] == "2 ready, 1 refused"
    assert summary[2].split()[:3] == ["1", "missing-table", f"{legacy}.lost"]
    assert summary[3] == "2 of 3 convertible"
    assert any(f"`hive-views import run {plan} --dry-run`" in line for line in summary[4:])
    assert cli("--json", "import", "plan", legacy).json["convertible"] == 2
    detailed = cli("import", "plan", legacy, "--verbose").out
    assert all(f"{legacy}.{name}" in detailed for name in ("old_base", "top", "lost"))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--select", "{0}"], ["lost", "old_base", "top"]),
        (["--select", "{0}.*o*"], ["lost", "old_base", "top"]),
        (["--select", "{0}.top", "--select", "{0}.old*"], ["old_base", "top"]),
        (["--exclude", "{0}.TOP"], ["lost", "old_base"]),
        (["--select", "owner:nobody"], []),
        (["--exclude", "owner:*"], []),
        (["--select", "reason:missing-table"], ["lost"]),
        (["--exclude", "reason:missing-table"], ["old_base", "top"]),
        (["--select", "{0}.l*", "--select", "reason:missing-table"], ["lost"]),
        (["--select", "{0}.t*", "--select", "reason:missing-table"], []),
    ],
)
def test_selected_views_are_planned(cli, legacy, words, names):
    planned = cli("--json", "import", "plan", legacy, *(word.format(legacy) for word in words)).json
    assert sorted(view["name"].partition(".")[2] for view in planned["views"]) == names


@pytest.mark.parametrize(
    ("words", "first_line"),
    [
        (["--select", "owner:nobody"], "nothing matched: --select owner:nobody selects none of 3 legacy views"),
        (
            ["--select", "{0}.t*", "--select", "reason:missing-table", "--exclude", "x"],
            "nothing matched: --select {0}.t* --select reason:missing-table --exclude x selects none of 3 legacy views",
        ),
        (["--select", "{0}.top", "--select", "{0}.topp"], "--select {0}.topp matches no legacy view"),
        (["--select", "reason:missing-table"], "1 refused"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--verbose",)])
def test_plan_names_patterns_that_match_nothing(cli, legacy, words, first_line, options):
    done = cli("import", "plan", legacy, *(word.format(legacy) for word in words), *options)
    assert done.code == 0
    assert "no legacy views" not in done.out
    if not options or "match" in first_line:
        assert done.out.splitlines()[0] == first_line.format(legacy)


def test_wrong_selection_is_rejected(cli, legacy):
    refused(cli("--json", "import", "plan", legacy, "--select", "reason:bad"), "UsageError", "--select", "no-text")
    refused(cli("--json", "import", "plan", legacy, "--exclude", "owner:"), "UsageError", "--exclude", "is empty")
    words = ("--view", f"{legacy}.no_such_view", "--exclude", "owner:x")
    refused(cli("--json", "import", "plan", *words), "NoSuchViewError", "no_such_view")


def test_trino_catalog_and_materialized_options(cli, add, sales):
    lake = f"SELECT id FROM lake.{sales}.orders"
    add(trino_view_row(sales, "of_lake", lake, IDS, catalog="lake"))
    add(trino_view_row(sales, "kept", "SELECT id FROM orders", IDS, materialized=True))

    def ends(*words: str) -> dict[str, tuple[str, str | None]]:
        views = cli("--json", "import", "plan", sales, *words).json["views"]
        return {view["name"].partition(".")[2]: (view["status"], view["reason"]) for view in views}

    assert ends()["of_lake"] == ("refused", "other-catalog")
    given = ends("--trino-catalog", "LAKE", "--trino-catalog", "hive", "--materialized", "report")
    assert given == {"of_lake": ("pending", None), "kept": ("reported", "materialized")}
    shown = cli(
        "import", "plan", "--trino-catalog", "lake", "--view", f"{sales}.of_lake", "--verbose", COLUMNS="1000"
    ).out
    assert "with the rights of its owner hive (SECURITY DEFINER)" in shown and "ignores the owner analyst" in shown
    assert "kept" not in shown


def test_mojibake_is_repaired_and_reverted(cli, add, sales, catalog, tmp_path):
    whole, damaged = "größe", "größe".encode().decode("latin-1")
    name, plan = ViewName(sales, "v"), str(tmp_path / "plan.json")
    text = f"select '{damaged}' as `c` from `{sales}`.`orders`"
    original, columns = f"select '{damaged}' as c from orders", [("c", "string", damaged)]
    add(hive_view_row(sales, "v", original, text, columns, **OLD))
    before = encode_row(catalog.store.get_row(name))
    assert cli("--json", "import", "plan", sales).json["reasons"] == {"mangled-text": 1}
    cli("import", "plan", sales, "--mangled", "repair", "-o", plan)
    assert cli("--json", "import", "run", plan).json["counts"] == {"converted": 1}
    view = catalog.load_view(name.identifier)
    assert (view.original_text, view.schema().fields[0].doc) == (f"select '{whole}' as c from orders", whole)
    assert cli("--json", "import", "revert", "--yes", "--view", str(name)).json["counts"] == {"reverted": 1}
    assert encode_row(catalog.store.get_row(name)) == before


def refused(done: Done, kind: str, *messages: str) -> None:
    """Check that a command failed with one error that names its subject."""
    assert done.code != 0
    assert done.error["type"] == kind
    for text in messages:
        assert text in done.error["error"]


def test_unknown_view_name_is_rejected(cli, legacy, catalog, tmp_path):
    plan, journal = str(tmp_path / "plan.json"), str(tmp_path / "plan.json.journal")
    catalog.execute(f"CREATE VIEW {legacy}.ours AS SELECT 1 AS id")
    for name, error, reason in (
        ("none", "NoSuchViewError", ""),
        ("orders", "NotAViewError", "It is a table"),
        ("ours", "NoSuchViewError", "it is an Iceberg view already"),
    ):
        done = cli("--json", "import", "plan", legacy, "--view", f"{legacy}.{name}", "-o", plan)
        refused(done, error, f"{legacy}.{name}", reason)
    assert not Path(plan).exists()
    views = [word for name in ("TOP", "old_base", "lost") for word in ("--view", f"{legacy}.{name}")]
    cli("import", "plan", *views, "-o", plan)
    assert cli("--json", "import", "run", plan).json["counts"] == {"converted": 2, "refused": 1}
    refused(cli("--json", "import", "report", journal, "--view", f"{legacy}.none"), "NoSuchViewError", journal)
    done = cli("import", "revert", "--yes", "-j", journal, "--view", f"{legacy}.none", "--view", f"{legacy}.lost")
    assert done.code == 1
    output = " ".join(done.out.split())
    assert f"{legacy}.none refused the import of {journal} has no legacy view of this name" in output
    assert "1 already, 1 refused" in done.out
    assert catalog.view_exists((legacy, "top"))


def test_wrong_files_are_rejected_by_name(cli, legacy, everything, tmp_path):
    plan, journal, other = (str(tmp_path / name) for name in ("plan.json", "plan.json.journal", "other.json"))
    cli("import", "plan", legacy, "-o", plan)
    cli("import", "plan", legacy, "--mangled", "keep", "-o", other)
    before = everything()
    half = tmp_path / "half.json"
    half.write_bytes(Path(plan).read_bytes()[: Path(plan).stat().st_size // 2])
    refused(cli("--json", "import", "run", str(half)), "PlanError", str(half), "plan again")
    refused(cli("--json", "import", "report", str(half)), "JournalError", str(half), "neither a journal")
    refused(cli("--json", "import", "run", str(tmp_path)), "PlanError", str(tmp_path))
    refused(cli("--json", "import", "report", f"{plan}s"), "JournalError", f"{plan}s", "No such file")
    assert everything() == before

    assert cli("import", "run", plan).code == 0
    noted = Path(journal).read_bytes()
    refused(cli("--json", "import", "run", journal), "PlanError", journal, "a journal")
    refused(cli("--json", "import", "run", other, "-j", journal), "JournalError", journal, "another plan")
    refused(cli("--json", "import", "revert", "--yes", "-j", plan), "JournalError", plan)
    # The journal holds the legacy rows, so no report, plan or script may overwrite it.
    for words in (("plan", legacy, "-o", journal), ("report", journal, "--html", journal)):
        refused(
            cli("--json", "import", *words), "UsageError", words[-2].replace("-o", "--output"), journal, "legacy rows"
        )
    refused(cli("--json", "export", legacy, "-o", journal), "UsageError", "--output", "legacy rows")
    for path, reason in ((str(tmp_path), "is a directory"), (str(tmp_path / "no" / "r"), "there is no directory")):
        refused(cli("--json", "import", "report", journal, "--html", path), "UsageError", "--html", path, reason)
        refused(cli("--json", "import", "plan", legacy, "-o", path), "UsageError", "--output", path, reason)
    refused(cli("--json", "import", "run", plan, "-j", str(tmp_path / "no" / "j")), "JournalError", "No such file")
    for path in ("/dev/zero", str(tmp_path)):
        refused(cli("--json", "import", "run", plan, "-j", path), "JournalError", path, "it is not a file")
    refused(cli("--json", "import", "run", plan, "--most-calls", "0"), "UsageError", "--most-calls")
    assert Path(journal).read_bytes() == noted


def test_database_without_views_gives_an_empty_plan(cli, database, tmp_path):
    plan, page = str(tmp_path / "plan.json"), tmp_path / "page.html"
    assert "no legacy views" in cli("import", "plan", database, "-o", plan).out
    for words in (("--dry-run",), (), ()):
        done = cli("import", "run", plan, *words)
        assert (done.code, done.err) == (0, "")
        assert "no legacy views" in done.out
    assert "no legacy views" in cli("import", "report", f"{plan}.journal", "--html", str(page)).out
    assert page.exists()
    assert "no legacy views" in cli("import", "revert", "--yes", "-j", f"{plan}.journal").out


def test_plan_counts_findings_for_spark(cli, add, sales, tmp_path):
    for name, query in {
        "top": f"select `orders`.`id` from `{sales}`.`orders` order by `orders`.`id` limit 3",
        "odd": f"select rand() as `id` from `{sales}`.`orders`",
        "plain": f"select `orders`.`id` from `{sales}`.`orders`",
    }.items():
        add(hive_view_row(sales, name, query, query, [("id", "double" if name == "odd" else "bigint")]))
    plan, page = str(tmp_path / "plan.json"), tmp_path / "page.html"
    lines = cli("import", "plan", sales, "-o", plan, COLUMNS="1000").out.splitlines()
    assert any(line.startswith("spark: 1 other rows, 1 not verified, for example ") for line in lines)
    assert "3 of 3 convertible, 2 of them with findings for Spark" in lines
    report = cli("--json", "import", "plan", sales).json
    assert report["engines"]["spark"] == {"not verified": 1, "other rows": 1}
    found = {view["name"].partition(".")[2]: view["engines"] for view in report["views"]}
    assert found["plain"] == []
    assert [item for item in found["top"] if item.startswith("spark: other rows: ORDER BY with LIMIT")]
    assert {view["status"] for view in report["views"]} == {"pending"}
    cli("import", "report", plan, "--html", str(page))
    assert "spark: other rows: ORDER BY with LIMIT" in page.read_text()


def add_views_with_findings(add, sales: str) -> None:
    for name, query in {
        "top": f"select `orders`.`id` from `{sales}`.`orders` order by `orders`.`id` limit 3",
        "over": f"select `top`.`id` from `{sales}`.`top`",
        "plain": f"select `orders`.`id` from `{sales}`.`orders`",
    }.items():
        add(hive_view_row(sales, name, query, query, [("id", "bigint")]))


@pytest.mark.parametrize(
    ("readers", "engines", "sentence"),
    [
        ("spark", ["spark"], "3 of 3 convertible, 2 of them with findings for Spark"),
        ("hive", [], "3 of 3 convertible"),
        ("Spark, hive", ["spark"], "3 of 3 convertible, 2 of them with findings for Spark and Hive"),
    ],
)
def test_plan_has_the_findings_of_the_readers(cli, add, sales, readers, engines, sentence):
    add_views_with_findings(add, sales)
    planned = cli("--json", "import", "plan", sales, "--readers", readers).json
    found = {item.partition(":")[0] for view in planned["views"] for item in view["engines"]}
    assert (sorted(found), list(planned["engines"])) == (engines, engines)
    assert sentence in cli("import", "plan", sales, "--readers", readers, COLUMNS="1000").out.splitlines()


def test_unknown_reader_is_rejected(cli, sales):
    for readers in ("flink", ""):
        refused(cli("--json", "import", "plan", sales, "--readers", readers), "UsageError", "--readers")


def test_strict_plan_refuses_views_with_findings(cli, add, catalog, sales, tmp_path):
    add_views_with_findings(add, sales)
    assert {
        v["status"] for v in cli("--json", "import", "plan", sales, "--strict", "--readers", "hive").json["views"]
    } == {"pending"}
    plan = str(tmp_path / "plan.json")
    planned = cli("--json", "import", "plan", sales, "--strict", "-o", plan).json
    views = {view["name"].partition(".")[2]: view for view in planned["views"]}
    assert {name: (view["status"], view["reason"]) for name, view in views.items()} == {
        "top": ("refused", "required-engines"),
        "over": ("blocked", "blocked"),
        "plain": ("pending", None),
    }
    assert views["top"]["text"].startswith("spark: other rows: ORDER BY with LIMIT")
    assert "Leave --strict out" in views["top"]["text"]
    assert cli("--json", "import", "run", plan).json["counts"] == {"blocked": 1, "converted": 1, "refused": 1}
    # Without --strict it is converted, and the finding is still there.
    cli("import", "plan", sales, "-o", plan)
    assert cli("--json", "import", "run", plan, "-j", str(tmp_path / "second")).json["counts"] == {"converted": 2}
    shown = cli("--json", "show", f"{sales}.top", "--engines").json["engines"]
    assert [item["outcome"] for item in shown if item["engine"] == "spark"] == ["other rows"]


def test_run_has_the_findings_of_its_own_readers(cli, add, sales, tmp_path):
    add_views_with_findings(add, sales)
    plan = str(tmp_path / "plan.json")
    assert cli("--json", "import", "plan", sales, "--readers", "hive", "-o", plan).json["engines"] == {}
    checked = cli("--json", "import", "run", plan, "--readers", "spark,hive", "--dry-run").json
    assert checked["engines"] == {"spark": {"other rows": 2}}
    ran = cli("import", "run", plan, "--readers", "spark,hive", COLUMNS="1000")
    assert any(line.startswith("spark: 2 other rows, for example ") for line in ran.out.splitlines())
    for _ in ("the finished run again", "its report"):
        assert cli("--json", "import", "run", plan, "--readers", "spark,hive").json["counts"] == {"converted": 3}
    reported = cli("--json", "import", "report", f"{plan}.journal").json
    assert reported["engines"] == {"spark": {"other rows": 2}}
    other = cli("--json", "import", "run", plan, "--readers", "trino")
    refused(other, "JournalError", "another plan")


def test_strict_run_refuses_views_with_findings(cli, add, sales, tmp_path):
    add_views_with_findings(add, sales)
    plan = str(tmp_path / "plan.json")
    cli("import", "plan", sales, "-o", plan)
    strict = cli("--json", "import", "run", plan, "--strict").json
    assert strict["counts"] == {"blocked": 1, "converted": 1, "refused": 1}
    views = {view["name"].partition(".")[2]: view for view in strict["views"]}
    assert views["top"]["text"].startswith("spark: other rows: ORDER BY with LIMIT")
    assert cli("--json", "import", "run", plan, "--strict").json["counts"] == strict["counts"]
    assert cli("--json", "import", "report", f"{plan}.journal").json["counts"] == strict["counts"]
    # The plan can still be run without --strict, with a journal of its own.
    assert cli("--json", "import", "run", plan, "-j", str(tmp_path / "second")).json["counts"] == {"converted": 3}


def test_note_is_listed_and_refuses_nothing(cli, add, sales, tmp_path):
    query = f"select sum(cast(`orders`.`id` as double)) as `total` from `{sales}`.`orders`"
    add(hive_view_row(sales, "total", query, query, [("total", "double")]))
    plan = str(tmp_path / "plan.json")
    planned = cli("--json", "import", "plan", sales, "--strict", "-o", plan).json
    assert planned["engines"] == {"spark": {"other rows for some values": 1}}
    [note] = planned["views"][0]["engines"]
    assert note.startswith("spark: other rows for some values: sum or avg of DOUBLE")
    lines = cli("import", "plan", sales, "--strict", COLUMNS="1000").out.splitlines()
    assert "1 of 1 convertible" in lines
    assert any(line.startswith("spark: 1 other rows for some values, for example ") for line in lines)
    assert cli("--json", "import", "run", plan).json["counts"] == {"converted": 1}
    shown = cli("show", f"{sales}.total", "--engines", COLUMNS="1000").out
    assert "spark: the same rows, except for some values" in shown
