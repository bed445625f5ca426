"""The texts of legacy views, from the journal or the metastore's rows, with the views that they read inside."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hive_views.errors import ComparisonError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.backup import row_to_text
from hive_views.legacy_import.comparison.legacy_text import LegacyTexts
from hive_views.legacy_import.journal import Announcement, History
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.plan import ImportPlan, PlanEntry, PlanStatus, scan_row
from hive_views.metastore.rows.row import Row, read_row
from hive_views.metastore.rows.serialization import row_fingerprint
from tests.integration.legacy_import.rows import hive_view_row

INNER = "select `t`.`id` from `s`.`t` -- all"
TEXTS = {
    "inner": INNER,
    "outer": "select `inner`.`id` from `s`.`inner` join `s`.`other` `o` on true",
    "other": "with `q` as (select `i`.`id` from `s`.`inner` `i`) select `q`.`id` from `q`",
}
PARAMETERS = {
    "spark.sql.create.version": "4.1.4",
    "view.catalogAndNamespace.numParts": "2",
    "view.catalogAndNamespace.part.0": "spark_catalog",
    "view.catalogAndNamespace.part.1": "s",
    "view.query.out.numCols": "1",
    "view.query.out.col.0": "id",
}


def rows(texts: Mapping[str, str], **parameters: str) -> dict[ViewName, Row]:
    made = (
        read_row(hive_view_row("s", name, text, text, [("id", "int")], **parameters)) for name, text in texts.items()
    )
    return {row.name: row for row in made}


def history(legacy: Mapping[ViewName, Row], *, announced: bool) -> History:
    """A run of an import of these rows, whose journal announces them or does not."""
    scanned = [scan_row(row, ImportOptions()) for row in legacy.values()]
    entries = tuple(
        PlanEntry(
            name=view.name,
            target=view.name,
            writer=view.view.writer,
            dialect=view.view.dialect.value,
            status=PlanStatus.READY,
            reads=view.reads,
            fingerprint=row_fingerprint(view.row),
        )
        for view in scanned
    )
    result = History(plan=ImportPlan(entries))
    for row in legacy.values() if announced else ():
        result.add_announcement(
            Announcement(
                name=row.name, target=row.name, row=row_to_text(row), backup="backup", metadata_location="location"
            )
        )
    return result


def test_views_that_a_view_reads_are_inside_its_text() -> None:
    legacy = rows(TEXTS)
    converted = rows(dict.fromkeys(TEXTS, "select 1"))
    run = history(legacy, announced=True)
    query = LegacyTexts(converted.get, run).query(run.plan.by_name[ViewName("s", "outer")])
    assert query.expressions == (
        ("hive_views_legacy_0", INNER),
        ("hive_views_legacy_1", TEXTS["other"].replace("`s`.`inner`", "`hive_views_legacy_0`")),
        (
            "hive_views_legacy_2",
            "select `inner`.`id` from `hive_views_legacy_0` AS `inner` join `hive_views_legacy_1` `o` on true",
        ),
    )
    # The comment at the end of a text ends with its line.
    assert query.statement("SELECT 1").startswith(f"WITH hive_views_legacy_0 AS ({INNER}\n), ")


def test_rows_that_are_not_converted_are_those_of_the_metastore() -> None:
    legacy = rows(TEXTS)
    run = history(legacy, announced=False)
    assert LegacyTexts(legacy.get, run).query(run.plan.by_name[ViewName("s", "inner")]).expressions[0][1] == INNER
    changed = rows({"inner": "select 2 as `id`"})
    for current in (changed.get, {}.get):
        with pytest.raises(ComparisonError, match="neither in the metastore nor in the journal"):
            LegacyTexts(current, run).query(run.plan.by_name[ViewName("s", "inner")])


def test_columns_of_spark_views_have_the_names_of_the_view() -> None:
    legacy = rows({"a": "SELECT x FROM t", "b": "SELECT id FROM a"}, **PARAMETERS)
    run = history(legacy, announced=True)
    query = LegacyTexts(legacy.get, run).query(run.plan.by_name[ViewName("s", "b")])
    assert [text for _, text in query.expressions] == [
        "SELECT * FROM (SELECT x FROM t\n) AS hive_views_text (`id`)",
        "SELECT * FROM (SELECT id FROM hive_views_legacy_0 AS a\n) AS hive_views_text (`id`)",
    ]


def test_view_that_reads_one_with_other_settings_is_not_compared() -> None:
    legacy = rows({"a": "SELECT id FROM t"}, **PARAMETERS, **{"view.sqlConfig.spark.sql.ansi.enabled": "false"})
    legacy |= rows({"b": "SELECT id FROM a"}, **PARAMETERS)
    run = history(legacy, announced=True)
    with pytest.raises(ComparisonError, match=r"it reads s\.a, which has another dialect or settings"):
        LegacyTexts(legacy.get, run).query(run.plan.by_name[ViewName("s", "b")])
