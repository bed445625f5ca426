"""Plan, run and revert on a real metastore."""

from __future__ import annotations

from typing import Any

import pytest

from hive_views.config import REQUIRE_ENGINES
from hive_views.dependencies.lineage import DependencyState
from hive_views.errors import JournalError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.convert import LEGACY_FINGERPRINT, LEGACY_ROW
from hive_views.legacy_import.journal import ImportStatus, RevertStatus
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import ImportOptions, RenameRule
from hive_views.legacy_import.plan import PlanStatus, plan_import, read_plan, write_plan
from hive_views.legacy_import.revert import revert_run, revert_views
from hive_views.legacy_import.run import dry_run, run_plan
from hive_views.metastore._thrift.hive_metastore.ttypes import Partition
from hive_views.metastore.rows.serialization import encode_row, row_fingerprint
from hive_views.spec.version_texts import LEGACY_ORIGINAL
from tests.integration.legacy_import.conftest import entry_of
from tests.integration.legacy_import.rows import alter, fields, hive_view_row, trino_view_row
from tests.integration.legacy_import.test_readers import LAYOUTS

IDS = [("id", "bigint")]


@pytest.fixture
def views(add, sales) -> str:
    """A database of legacy views: convertible ones, and one for each reason."""
    big = f"select `orders`.`id`, `orders`.`amount` from `{sales}`.`orders` where `orders`.`amount` > 5"
    ids = [("id", "bigint")]
    for row in (
        hive_view_row(
            sales, "big", "select id, amount from orders where amount > 5", big, [*ids, ("amount", "decimal(10,2)")]
        ),
        hive_view_row(sales, "above", "select id from big", f"select `big`.`id` from `{sales}`.`big`", ids),
        hive_view_row(
            sales, "bad", "select f(id) as id from big", f"select f(`big`.`id`) as `id` from `{sales}`.`big`", ids
        ),
        hive_view_row(sales, "on_bad", "select id from bad", f"select `bad`.`id` from `{sales}`.`bad`", ids),
        hive_view_row(sales, "higher", "select id from on_bad", f"select `on_bad`.`id` from `{sales}`.`on_bad`", ids),
        hive_view_row(sales, "gone", "select id from nothing", f"select `n`.`id` from `{sales}`.`nothing` `n`", ids),
        hive_view_row(sales, "broken", "select from", "select from from from", ids),
        hive_view_row(sales, "ring1", "select id from ring2", f"select `ring2`.`id` from `{sales}`.`ring2`", ids),
        hive_view_row(sales, "ring2", "select id from ring1", f"select `ring1`.`id` from `{sales}`.`ring1`", ids),
        trino_view_row(
            sales, "tr", 'SELECT "id", note FROM orders WHERE amount > 1.5', [("id", "bigint"), ("note", "varchar(20)")]
        ),
        trino_view_row(sales, "tr_half", "SELECT id / 2 h FROM orders", [("h", "bigint")]),
    ):
        add(row)
    return sales


def test_plan_gives_each_view_a_status_and_reason(plan, views):
    import_plan = plan()
    reasons = {entry.name.name: entry.problem.reason if entry.problem else None for entry in import_plan.entries}
    assert reasons == {
        "big": None,
        "above": None,
        "bad": Reason.UNKNOWN_FUNCTION,
        "on_bad": Reason.BLOCKED,
        "higher": Reason.BLOCKED,
        "gone": Reason.MISSING_TABLE,
        "broken": Reason.UNREADABLE,
        "ring1": Reason.CYCLE,
        "ring2": Reason.CYCLE,
        "tr": None,
        "tr_half": Reason.NOT_PORTABLE,
    }
    assert f"{views}.nothing" in entry_of(import_plan, "gone").problem.text
    assert entry_of(import_plan, "higher").blocked_by == ViewName(views, "bad")
    assert import_plan.cycles == ((ViewName(views, "ring1"), ViewName(views, "ring2")),)
    order = [entry.name.name for entry in import_plan.entries]
    assert order.index("big") < order.index("above")
    assert (entry_of(import_plan, "big").level, entry_of(import_plan, "above").level) == (0, 1)


def test_partitioned_table_function_is_refused(plan, add, sales):
    text = f"select id from noop(on `{sales}`.`orders` partition by `orders`.`id`)"
    add(hive_view_row(sales, "v", text, text, [("id", "bigint")]))
    problem = entry_of(plan(), "v").problem
    assert (problem.reason, problem.text) == (
        Reason.UNKNOWN_FUNCTION,
        "it reads noop(…), a table function of which it is unknown what it reads",
    )


def test_required_engine_is_checked_by_plan_and_run(open_catalog, plan, add, sales, everything, journal):
    strict = open_catalog({REQUIRE_ENGINES: "trino"})
    for name, text in {
        "half": f"select `orders`.`id` / 2 as `half` from `{sales}`.`orders`",
        "over_half": f"select `half`.`half` from `{sales}`.`half`",
    }.items():
        add(hive_view_row(sales, name, text, text, [("half", "double")]))
    problems = {entry.name.name: entry.problem for entry in plan_import(strict, databases=[sales]).entries}
    assert {name: problem.reason for name, problem in problems.items()} == {
        "half": Reason.ENGINES,
        "over_half": Reason.BLOCKED,
    }
    assert "trino: other rows: a quotient of integers" in problems["half"].text
    before, import_plan = everything(), plan()
    assert {entry.status for entry in import_plan.entries} == {PlanStatus.READY}
    outcomes = run_plan(import_plan, strict, journal).outcomes
    assert {outcome.name.name: outcome.status for outcome in outcomes} == {
        "half": ImportStatus.REFUSED,
        "over_half": ImportStatus.BLOCKED,
    }
    assert everything() == before


def test_plan_survives_json(plan, views):
    import_plan = plan(renames=(RenameRule.parse("x_*:y_*"),), mojibake="keep")
    assert read_plan(write_plan(import_plan)) == import_plan


def test_plan_and_dry_run_write_nothing(plan, views, catalog, everything):
    before = everything()
    result = dry_run(plan(), catalog)
    assert everything() == before
    ends = {outcome.name.name: outcome.status for outcome in result.outcomes}
    assert ends["big"] is ends["above"] is ends["tr"] is ImportStatus.WOULD_CONVERT
    assert ends["bad"] is ImportStatus.REFUSED


def test_dry_run_reports_changes_at_every_level(plan, views, add, catalog, raw, everything):
    def over(name: str, *below: str) -> None:
        joined = ", ".join(f"`{views}`.`{other}`" for other in below)
        text = f"select `{below[0]}`.`id` from {joined}"
        add(hive_view_row(views, name, text, text, IDS))

    over("changed", "above")
    over("over_changed", "changed")
    over("top", "over_changed", "above")
    over("dropped", "big")
    over("over_dropped", "dropped")
    over("of_table", "above", "customers")
    over("over_table", "of_table")
    over("good", "above", "tr")
    import_plan = plan()
    row = raw.get_table(views, "changed")
    row.parameters["note"] = "of another program"
    alter(raw, row)
    raw.drop_table(views, "dropped", False)
    raw.drop_table(views, "customers", False)
    before = everything()

    result = dry_run(import_plan, catalog)

    assert everything() == before
    assert not result.complete
    ends = {item.name.name: (item.status.value, item.reason, item.blocked_by) for item in result.outcomes}
    assert {name: end for name, end in ends.items() if entry_of(import_plan, name).status is PlanStatus.READY} == {
        **dict.fromkeys(("big", "above", "tr", "good"), ("would-convert", None, None)),
        "changed": ("refused", Reason.CHANGED, None),
        **dict.fromkeys(("over_changed", "top"), ("blocked", Reason.BLOCKED, ViewName(views, "changed"))),
        "dropped": ("refused", Reason.CHANGED, None),
        "over_dropped": ("blocked", Reason.BLOCKED, ViewName(views, "dropped")),
        "of_table": ("refused", Reason.MISSING_TABLE, None),
        "over_table": ("blocked", Reason.BLOCKED, ViewName(views, "of_table")),
    }


@pytest.mark.parametrize(
    ("settings", "named_settings"),
    [
        ({}, None),
        ({"ansi.enabled": "true", "session.timeZone": "UTC", "artifact.isolation.enabled": "false"}, None),
        ({"mapKeyDedupPolicy": "exception", "caseSensitive": "FALSE"}, None),
        ({"legacy.timeParserPolicy": "LEGACY"}, "spark.sql.legacy.timeParserPolicy=LEGACY"),
        (
            {"mapKeyDedupPolicy": "LAST_WIN", "caseSensitive": "true", "session.timeZone": "UTC"},
            "spark.sql.mapKeyDedupPolicy=LAST_WIN",
        ),
        ({"of.tomorrow": "1"}, "spark.sql.of.tomorrow=1"),
    ],
)
def test_plan_names_settings_that_iceberg_readers_do_not_apply(add, sales, plan, settings, named_settings):
    parameters = {**LAYOUTS["2.1"][0], "view.query.out.numCols": "1", "view.query.out.col.0": "id"}
    parameters |= {f"view.sqlConfig.spark.sql.{key}": value for key, value in settings.items()}
    del parameters["spark.sql.sources.schema"]
    text = f"SELECT id FROM {sales}.orders"
    add(hive_view_row(sales, "v", text, text, [("id", "bigint")], **parameters))
    (entry,) = plan().entries
    reason = "which a reader through Iceberg does not set: set it there, if rows depend on it"
    assert entry.changes == (() if named_settings is None else (f"made under {named_settings}, {reason}",))


@pytest.mark.parametrize(("ansi", "is_found"), [("false", True), (None, True), ("true", False)])
def test_plan_names_what_fails_in_ansi_mode(add, sales, plan, ansi, is_found):
    parameters = {**LAYOUTS["2.1"][0], "view.query.out.numCols": "1", "view.query.out.col.0": "q"}
    parameters |= {} if ansi is None else {"view.sqlConfig.spark.sql.ansi.enabled": ansi}
    del parameters["spark.sql.sources.schema"]
    text = f"SELECT id / id AS q FROM {sales}.orders"
    add(hive_view_row(sales, "v", text, text, [("q", "double")], **parameters))
    (entry,) = plan().entries
    found = [item for item in entry.engines if item.startswith("spark: ")]
    reason = "written with spark.sql.ansi.enabled=false, which plain Spark and a ViewSession apply, but not Iceberg's"
    assert [item.startswith(f"spark: may fail: {reason} catalog: a divisor of 0") for item in found] == [
        True
    ] * is_found


def test_import_in_place_preserves_other_fields_of_the_row(add, sales, raw, catalog, plan, journal):
    row = hive_view_row(
        sales,
        "kept",
        "select id as k, note from orders",
        f"select `orders`.`id` as `k`, `orders`.`note` from `{sales}`.`orders`",
        [("k", "bigint", "the key")],
        comment="a view",
        team="bi",
        **{"some.engine": "says this"},
    )
    row.partitionKeys = fields([("note", "varchar(20)", "by note")])
    row.retention, row.owner = 17, "boss"
    add(row)
    raw.add_partition(Partition(dbName=sales, tableName="kept", values=["a"], parameters={"made": "by hive"}))
    before, partitions = raw.get_table(sales, "kept"), raw.get_partitions(sales, "kept", -1)

    result = run_plan(plan(), catalog, journal)

    assert [outcome.status for outcome in result.outcomes] == [ImportStatus.CONVERTED]
    after = raw.get_table(sales, "kept")
    for field in ("owner", "createTime", "retention", "lastAccessTime", "tableType", "partitionKeys", "privileges"):
        assert getattr(after, field) == getattr(before, field), field
    kept = {key: value for key, value in before.parameters.items() if key != "transient_lastDdlTime"}
    assert kept.items() <= after.parameters.items()
    assert (after.viewOriginalText, after.viewExpandedText) == (before.viewOriginalText, before.viewExpandedText)
    assert raw.get_partitions(sales, "kept", -1) == partitions
    view = catalog.load_view(f"{sales}.kept")
    assert view.metadata.properties["team"] == "bi"
    assert [(field.name, field.doc) for field in view.schema().fields] == [("k", "the key"), ("note", "by note")]
    assert view.current_version().default_namespace == (sales,)


def test_revert_restores_rows_to_the_byte(plan, views, catalog, journal):
    import_plan = plan()
    before = {entry.name: encode_row(catalog.store.get_row(entry.name)) for entry in import_plan.entries}
    result = run_plan(import_plan, catalog, journal)
    assert sorted(o.name.name for o in result.outcomes if o.status is ImportStatus.CONVERTED) == ["above", "big", "tr"]
    assert all(catalog.view_exists(str(entry.name)) for entry in import_plan.ready)

    outcomes = revert_run(catalog, journal)

    assert [outcome.name.name for outcome in outcomes] == ["tr", "above", "big"]
    assert {outcome.status for outcome in outcomes} == {RevertStatus.REVERTED}
    assert {entry.name: encode_row(catalog.store.get_row(entry.name)) for entry in import_plan.entries} == before
    assert {outcome.status for outcome in revert_run(catalog, journal)} == {RevertStatus.ALREADY}


def test_revert_without_a_journal(plan, views, catalog, journal):
    import_plan = plan()
    before = {entry.name: encode_row(catalog.store.get_row(entry.name)) for entry in import_plan.ready}
    run_plan(import_plan, catalog, journal)
    journal.unlink()
    outcomes = revert_views(catalog, [entry.name for entry in import_plan.ready])
    assert {outcome.status for outcome in outcomes} == {RevertStatus.REVERTED}
    assert {entry.name: encode_row(catalog.store.get_row(entry.name)) for entry in import_plan.ready} == before


def test_revert_refuses_changed_views_unless_forced(plan, views, catalog, journal, raw):
    import_plan = plan()
    before = encode_row(catalog.store.get_row(ViewName(views, "big")))
    run_plan(import_plan, catalog, journal)
    catalog.load_view(f"{views}.big").update().set_properties(later="yes").commit()
    altered = raw.get_table(views, "above")
    altered.parameters["note"] = "of another program"
    alter(raw, altered)

    refused = {outcome.name.name: outcome for outcome in revert_run(catalog, journal)}
    assert refused["big"].status is refused["above"].status is RevertStatus.REFUSED
    assert catalog.load_view(f"{views}.big").metadata.properties["later"] == "yes"

    forced = revert_run(catalog, journal, names=[ViewName(views, "big")], force=True)
    assert [outcome.status for outcome in forced] == [RevertStatus.REVERTED]
    assert encode_row(catalog.store.get_row(ViewName(views, "big"))) == before


@pytest.mark.parametrize("with_journal", [True, False])
def test_forced_revert_keeps_another_view_of_the_name(plan, views, catalog, journal, raw, with_journal):
    run_plan(plan(), catalog, journal)
    name = ViewName(views, "big")
    legacy_row = catalog.store.get_row(name).parameters[LEGACY_ROW]
    catalog.drop_view(str(name))
    catalog.create_view_from_sql(str(name), "SELECT 42 AS other")
    if with_journal:
        (outcome,) = revert_run(catalog, journal, names=[name], force=True)
    else:
        # Any program can write the row parameter.
        row = raw.get_table(*name.identifier)
        row.parameters[LEGACY_ROW] = legacy_row
        alter(raw, row)
        (outcome,) = revert_views(catalog, [name], force=True)
    assert outcome.status is RevertStatus.REFUSED
    assert ("another view" if with_journal else "metadata file does not") in outcome.text
    assert catalog.load_view(str(name)).original_text == "SELECT 42 AS other"


def test_forced_revert_restores_view_whose_row_lost_its_parameters(plan, views, catalog, journal):
    import_plan = plan()
    name = ViewName(views, "big")
    before = encode_row(catalog.store.get_row(name))
    run_plan(import_plan, catalog, journal)
    catalog.load_view(str(name)).update().remove_properties(LEGACY_ROW, LEGACY_FINGERPRINT).commit()
    (outcome,) = revert_run(catalog, journal, names=[name], force=True)
    assert outcome.status is RevertStatus.REVERTED
    assert encode_row(catalog.store.get_row(name)) == before


def test_dropped_view_is_reverted_after_it_was_registered(plan, views, catalog, journal):
    import_plan = plan()
    name = ViewName(views, "big")
    before = catalog.store.get_row(name)
    run_plan(import_plan, catalog, journal)
    location = catalog.load_view(str(name)).metadata_location
    catalog.drop_view(str(name))
    (outcome,) = revert_run(catalog, journal, names=[name])
    assert outcome.status is RevertStatus.REFUSED and f"register` ({location})" in outcome.text
    catalog.register_view(str(name), location)
    (outcome,) = revert_run(catalog, journal, names=[name])
    assert outcome.status is RevertStatus.REFUSED and "owner" in outcome.text
    (outcome,) = revert_run(catalog, journal, names=[name], force=True)
    assert outcome.status is RevertStatus.REVERTED
    after = catalog.store.get_row(name)
    after.table.createTime = before.table.createTime  # the server sets it when the view is registered
    assert encode_row(after) == encode_row(before)


def test_revert_refuses_copy_that_another_program_changed(views, catalog, journal, raw):
    options = ImportOptions(renames=(RenameRule.parse("big:big_new"),))
    run_plan(plan_import(catalog, databases=[views], options=options), catalog, journal)
    row = raw.get_table(views, "big_new")
    row.viewOriginalText = row.viewExpandedText = "select 7 as id, 1.0 as amount"
    alter(raw, row)
    outcomes = {outcome.name.name: outcome for outcome in revert_run(catalog, journal)}
    assert outcomes["big"].status is RevertStatus.REFUSED and "expanded-text" in outcomes["big"].text
    (forced,) = revert_run(catalog, journal, names=[ViewName(views, "big")], force=True)
    assert forced.status is RevertStatus.REVERTED and not catalog.view_exists(f"{views}.big_new")


def test_run_refuses_row_that_changed_since_the_plan(plan, views, catalog, journal, raw):
    import_plan = plan()
    row = raw.get_table(views, "big")
    row.viewExpandedText += " and `orders`.`amount` < 100"
    alter(raw, row)
    changed = row_fingerprint(catalog.store.get_row(ViewName(views, "big")))

    ends = {outcome.name.name: outcome for outcome in run_plan(import_plan, catalog, journal).outcomes}

    assert (ends["big"].status, ends["big"].reason) == (ImportStatus.REFUSED, Reason.CHANGED)
    assert (ends["above"].status, ends["above"].blocked_by) == (ImportStatus.BLOCKED, ViewName(views, "big"))
    assert ends["tr"].status is ImportStatus.CONVERTED
    assert row_fingerprint(catalog.store.get_row(ViewName(views, "big"))) == changed


def test_run_refuses_view_whose_table_was_dropped_since_the_plan(add, sales, catalog, plan, journal, raw):
    add(
        hive_view_row(
            sales, "v", "select * from customers", f"select `c`.`id` from `{sales}`.`customers` `c`", [("id", "int")]
        )
    )
    import_plan = plan()
    raw.drop_table(sales, "customers", True)
    (end,) = run_plan(import_plan, catalog, journal).outcomes
    assert (end.status, end.reason) == (ImportStatus.REFUSED, Reason.MISSING_TABLE)


def test_running_again_changes_nothing(plan, views, catalog, journal, everything):
    import_plan = plan()
    first = run_plan(import_plan, catalog, journal)
    after = everything()
    again = run_plan(import_plan, catalog, journal)
    assert everything() == after
    assert [outcome.status for outcome in again.outcomes] == [outcome.status for outcome in first.outcomes]
    other_journal = journal.with_name("other")
    found_done = run_plan(import_plan, catalog, other_journal)
    assert everything() == after
    assert {o.was_converted_before for o in found_done.outcomes if o.status is ImportStatus.CONVERTED} == {True}


def test_journal_of_another_plan_is_rejected(plan, views, catalog, journal):
    run_plan(plan(), catalog, journal)
    with pytest.raises(JournalError, match="another plan"):
        run_plan(plan(mojibake="keep"), catalog, journal)


def test_incomplete_last_line_of_journal_is_removed(plan, views, catalog, journal):
    import_plan = plan()
    run_plan(import_plan, catalog, journal)
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"event": "outc')
    run_plan(import_plan, catalog, journal)
    assert journal.read_bytes().startswith(whole)
    assert b'"outc{' not in journal.read_bytes()


def test_import_to_another_database_renames_tables_in_texts(add, sales, other_database, catalog, journal, everything):
    add(
        hive_view_row(
            sales,
            "old_a",
            "select id, amount from orders",
            f"select `orders`.`id`, `orders`.`amount` from `{sales}`.`orders` -- `old_a`",
            [("id", "bigint"), ("amount", "decimal(10,2)")],
        )
    )
    add(
        hive_view_row(
            sales,
            "old_b",
            "select old_a.id from old_a where 'old_a' <> 'x'",
            f"select `old_a`.`id` from `{sales}`.`old_a` where 'old_a' <> 'x'",
            [("id", "bigint")],
        )
    )
    before = everything()
    options = ImportOptions(renames=(RenameRule.parse("old_*:new_*"),), to_database=other_database)
    import_plan = plan_import(catalog, databases=[sales], options=options)
    result = run_plan(import_plan, catalog, journal)
    assert {outcome.status for outcome in result.outcomes} == {ImportStatus.CONVERTED}
    view = catalog.load_view(f"{other_database}.new_b")
    assert view.expanded_text == (
        f"select `old_a`.`id` from `{other_database}`.`new_a` AS `old_a` where 'old_a' <> 'x'"
    )
    assert catalog.load_view(f"{other_database}.new_a").expanded_text.endswith(f"from `{sales}`.`orders`")
    marked = {key for key, value in everything().items() if before.get(key) != value}
    assert marked == {"row orders"}  # marked for lineage; the legacy views are unchanged

    assert {outcome.status for outcome in revert_run(catalog, journal)} == {RevertStatus.REVERTED}
    assert catalog.list_views(other_database) == []


def test_original_text_with_another_meaning_is_kept_in_the_summary(add, sales, other_database, catalog, plan, journal):
    # Typed with another current database, in which `orders` was.
    add(
        hive_view_row(
            sales, "v", "select id from customers", f"select `orders`.`id` from `{sales}`.`orders`", [("id", "bigint")]
        )
    )
    run_plan(plan(), catalog, journal)
    view = catalog.load_view(f"{sales}.v")
    assert view.original_text == f"select `orders`.`id` from `{sales}`.`orders`"
    assert view.current_version().summary[LEGACY_ORIGINAL] == "select id from customers"


def test_trino_view_keeps_its_encoding(plan, views, catalog, journal, raw):
    before = raw.get_table(views, "tr")
    run_plan(plan(), catalog, journal)
    after = raw.get_table(views, "tr")
    assert (after.viewOriginalText, after.viewExpandedText) == (before.viewOriginalText, before.viewExpandedText)
    assert after.parameters["presto_view"] == "true"
    assert after.parameters["comment"] == "Presto View"
    view = catalog.load_view(f"{views}.tr")
    assert view.sql_for("trino").sql == 'SELECT "id", note FROM orders WHERE amount > 1.5'
    assert view.sql_for("spark").sql == (
        f"SELECT `orders`.`id`, `orders`.`note` FROM `{views}`.`orders` WHERE `orders`.`amount` > 1.5"
    )


UNION = "select id from orders union all select id from orders order by id"


@pytest.mark.parametrize(("original", "reason"), [(UNION, None), (UNION + " desc", Reason.UNRESOLVED)])
def test_original_text_replaces_uncompilable_expanded_text(add, sales, plan, original, reason):
    both = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", original, f"{both} union all {both} order by `__u2`.`id`", [("id", "bigint")]))
    (entry,) = plan().entries
    assert (entry.problem.reason if entry.problem else None) is reason
    if reason is None:
        assert entry.new_text == f"{both} union all {both} order by id"


@pytest.mark.parametrize(("mangled", "text"), [("refuse", None), ("repair", "größe"), ("keep", "grÃ¶Ã\x9fe")])
def test_mojibake_is_refused_repaired_or_kept(add, sales, plan, mangled, text):
    damaged = "größe".encode().decode("latin-1")
    add(hive_view_row(sales, "v", "x", f"select '{damaged}' as `c` from `{sales}`.`orders`", [("c", "string")]))
    (entry,) = plan(mojibake=mangled).entries
    if text is None:
        assert entry.problem.reason is Reason.MOJIBAKE
        assert "größe" in entry.problem.text
    else:
        assert entry.new_text == f"select '{text}' as `c` from `{sales}`.`orders`"


def test_mojibake_in_comments_is_noted_or_repaired(add, sales, plan, catalog, journal):
    whole, damaged = "größe", "größe".encode().decode("latin-1")
    row = hive_view_row(
        sales,
        "v",
        "select id, note from orders",
        f"select `o`.`id`, `o`.`note` from `{sales}`.`orders` `o`",
        [("id", "bigint", damaged), ("note", "varchar(20)")],
        comment=f"die {damaged}",
        transient_lastDdlTime="1600000000",
    )
    add(row)
    before = encode_row(catalog.store.get_row(ViewName(sales, "v")))
    (entry,) = plan(mojibake="keep").entries
    assert not [text for text in entry.changes if "latin1" in text]
    (entry,) = plan().entries
    (change,) = [text for text in entry.changes if "latin1" in text]
    assert change.endswith(f"--mangled repair: comment of column id: {whole}; comment: die {whole}")

    import_plan = plan(mojibake="repair")
    (change,) = [text for text in import_plan.entries[0].changes if "latin1" in text]
    assert change == (f"damage by a latin1 database is repaired: comment of column id: {whole}; comment: die {whole}")
    assert run_plan(import_plan, catalog, journal).complete
    view = catalog.load_view((sales, "v"))
    assert view.schema().fields[0].doc == whole
    assert view.metadata.properties["comment"] == f"die {whole}"
    after = catalog.store.get_row(ViewName(sales, "v"))
    assert (after.parameters["comment"], after.columns[0][2]) == (f"die {whole}", whole)
    assert view.drift == ()
    assert [outcome.status for outcome in revert_run(catalog, journal)] == [RevertStatus.REVERTED]
    assert encode_row(catalog.store.get_row(ViewName(sales, "v"))) == before


def test_properties_of_the_catalog_replace_those_of_the_row(open_catalog, add, sales, plan, journal):
    catalog = open_catalog({"view-override.team": "bi", "view-default.site": "new"})
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", text, text, IDS, team="sales", site="old"))
    before = encode_row(catalog.store.get_row(ViewName(sales, "v")))
    assert run_plan(plan(), catalog, journal).complete
    view = catalog.load_view((sales, "v"))
    row = catalog.store.get_row(ViewName(sales, "v"))
    for properties in (view.metadata.properties, row.parameters):
        assert (properties["team"], properties["site"]) == ("bi", "old")
    assert view.drift == ()
    assert [outcome.status for outcome in revert_run(catalog, journal)] == [RevertStatus.REVERTED]
    assert encode_row(catalog.store.get_row(ViewName(sales, "v"))) == before


def test_plan_notes_the_security_mode_of_trino_views(add, sales, other_database, catalog, journal):
    documents: dict[str, dict[str, Any]] = {
        "definer": {},
        "invoker": {"runAsInvoker": True},
        "unowned": {"owner": None},
    }
    for name, document in documents.items():
        old = {"transient_lastDdlTime": "1600000000"}
        row = trino_view_row(sales, name, "SELECT id FROM orders", IDS, parameters=old, **document)
        row.owner = "boss"
        add(row)
    there = plan_import(catalog, databases=[sales], options=ImportOptions(to_database=other_database))
    here = plan_import(catalog, databases=[sales])
    reported = {
        (entry.in_place, entry.name.name): text
        for entry in (*there.entries, *here.entries)
        for text in entry.changes
        if "rights" in text
    }
    definer = (
        "in Trino it keeps running with the rights of its owner {} (SECURITY DEFINER), which no other engine applies"
    )
    copied = (
        "Trino runs it with its {} rights (SECURITY {}); the new view it runs with the rights of the row's owner boss, "
        "or with its reader's if hive.hive-views.run-as-invoker is on. No other engine applies an owner's rights"
    )
    assert reported == {
        (True, "definer"): f"{definer.format('boss')}; Trino ignores the owner analyst in its text",
        (True, "invoker"): "in Trino it keeps running with its reader's rights (SECURITY INVOKER)",
        (True, "unowned"): definer.format("boss"),
        (False, "definer"): copied.format("owner's", "DEFINER"),
        (False, "invoker"): copied.format("reader's", "INVOKER"),
        (False, "unowned"): copied.format("owner's", "DEFINER"),
    }
    for place, import_plan in (("there", there), ("here", here)):
        assert run_plan(import_plan, catalog, journal.with_name(place)).complete
        assert [catalog.store.get_row(entry.target).owner for entry in import_plan.entries] == ["boss"] * 3


def test_star_of_spark_view_keeps_its_recorded_columns(add, sales, catalog, plan, journal):
    parameters = {
        "spark.sql.create.version": "3.5.1",
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": sales,
        "view.query.out.numCols": "2",
        "view.query.out.col.0": "cust",
        "view.query.out.col.1": "id",
        "view.sqlConfig.spark.sql.ansi.enabled": "true",
    }
    add(
        hive_view_row(
            sales, "v", "SELECT * FROM orders", "SELECT * FROM orders", [("c", "int"), ("i", "bigint")], **parameters
        )
    )
    assert run_plan(plan(), catalog, journal).complete
    view = catalog.load_view(f"{sales}.v")
    assert [field.name for field in view.schema().fields] == ["c", "i"]
    assert view.original_text == "SELECT * FROM orders"
    assert "SELECT `cust`, `id` FROM (" in view.sql_for("spark").sql
    row = catalog.store.get_row(ViewName(sales, "v"))
    assert not [key for key in row.parameters if key.startswith(("view.query", "view.catalog"))]
    assert row.parameters["view.sqlConfig.spark.sql.ansi.enabled"] == "true"


def test_lineage_identifies_converted_view_by_the_same_uuid(add, sales, catalog, plan, journal):
    add(hive_view_row(sales, "base", "select id from orders", f"select `o`.`id` from `{sales}`.`orders` `o`", IDS))
    catalog.execute(f"CREATE VIEW {sales}.above AS SELECT id FROM base", database=sales)

    def state() -> DependencyState:
        children = catalog.dependencies.lineage((sales, "above")).dependencies
        return next(item.state for item in children if item.dependency.name == ViewName(sales, "base"))

    assert state() is DependencyState.SAME
    assert run_plan(plan(), catalog, journal).complete
    assert catalog.view_exists((sales, "base"))
    assert state() is DependencyState.SAME
    revert_run(catalog, journal)
    assert not catalog.view_exists((sales, "base"))
    assert state() is DependencyState.SAME
    # Again, with the files of the first run.
    assert run_plan(plan(), catalog, journal.with_name("again")).complete
    assert state() is DependencyState.SAME


def test_view_with_upper_case_columns_is_reverted(add, sales, catalog, plan, journal):
    parameters = {**LAYOUTS["4.1"][0], "view.catalogAndNamespace.part.1": sales}
    text = "SELECT id AS ID, array(note) AS labels FROM orders"
    add(hive_view_row(sales, "v", text, text, [("id", "bigint"), ("tags", "array<string>")], **parameters))
    before = encode_row(catalog.store.get_row(ViewName(sales, "v")))
    assert run_plan(plan(), catalog, journal).complete
    assert [field.name for field in catalog.load_view((sales, "v")).schema().fields] == ["ID", "tags"]
    assert [outcome.status for outcome in revert_run(catalog, journal)] == [RevertStatus.REVERTED]
    assert encode_row(catalog.store.get_row(ViewName(sales, "v"))) == before


def test_second_run_uses_the_current_database_location(add, sales, other_database, catalog, raw, journal, tmp_path):
    expanded = f"select `o`.`id` from `{sales}`.`orders` `o`"
    options = ImportOptions(to_database=other_database)

    def copy(name: str, journal):
        add(hive_view_row(sales, name, "select id from orders", expanded, IDS))
        run_plan(plan_import(catalog, databases=[sales], options=options), catalog, journal)
        return catalog.load_view((other_database, name)).metadata_location

    copy("first", journal)
    # Hive 2.3 does not move a database.
    moved = raw.get_database(other_database)
    moved.locationUri = (tmp_path / "moved").as_uri()
    raw.drop_database(other_database, False, True)
    raw.create_database(moved)
    database_location = raw.get_database(other_database).locationUri
    assert copy("second", journal.with_name("again")).startswith(f"{database_location}/")
