"""Partition dependencies of views, on a real metastore."""

from __future__ import annotations

import json
import random
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestampType

from examples.mark_partitions import mark
from hive_views.dependencies.partitions import PartitionDependencies, TableDependency
from hive_views.dependencies.table_partitions import Trust
from hive_views.errors import InvalidViewError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, FieldSchema, Partition
from hive_views.metastore.partitions import DEFAULT_PARTITION
from tests.integration.catalog.samples import hive_row
from tests.suites import extended

EARLY, LATE = 1_700_000_000, 1_800_000_000


@pytest.fixture
def table(raw, database):
    """Creates a Hive table partitioned by text columns, with partitions and the time of each."""

    def make(name: str, keys: str = "ds", **partitions: int | None) -> None:
        row = hive_row(database, name, "EXTERNAL_TABLE", EXTERNAL="TRUE")
        row.sd.cols = [FieldSchema("id", "bigint", None), FieldSchema("total", "bigint", None)]
        row.partitionKeys = [FieldSchema(key, "string", None) for key in keys.split()]
        raw.create_table(row)
        for text, seconds in partitions.items():
            values = text.removeprefix("_").split("__")
            parameters = {} if seconds is None else {"transient_lastDdlTime": str(seconds)}
            sd = raw.get_table(database, name).sd
            raw.add_partition(Partition(values, database, name, 0, 0, sd, parameters))

    return make


@pytest.fixture
def run(catalog, database):
    return lambda sql: catalog.execute(sql, database=database, dialect="hive")


@pytest.fixture
def ask(catalog, database):
    def answer(view: str, **partition: str) -> PartitionDependencies:
        return catalog.partitions.dependencies(f"{database}.{view}", partition)

    return answer


def of(answer: PartitionDependencies, name: str) -> TableDependency:
    return next(item for item in answer.tables if item.table.name == name)


def names(answer: PartitionDependencies, table: str) -> list[str]:
    return [partition.name for partition in of(answer, table).partitions]


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def test_complete_partition_is_as_fresh_as_its_oldest_table(table, run, ask, database):
    table("orders", _1=EARLY, _2=LATE)
    table("rates", _1=LATE, _2=LATE)
    run("CREATE VIEW v AS SELECT o.id, r.total, o.ds FROM orders o JOIN rates r ON o.id = r.id AND o.ds = r.ds")
    answer = ask("v", ds="1")
    assert (answer.view, answer.partition) == (ViewName(database, "v"), (("ds", "1"),))
    assert (names(answer, "orders"), names(answer, "rates")) == (["ds=1"], ["ds=1"])
    assert (answer.complete, answer.why) == (True, "every partition that it needs is there")
    assert (answer.fresh_as_of, answer.last_written) == (at(EARLY), at(LATE))
    assert of(answer, "orders").partitions[0].trust is Trust.ROW
    assert of(answer, "rates").restricted == (("ds", "ds"),)


def test_requested_partition_without_table_partition_is_missing(table, run, ask, database):
    table("orders", _1=EARLY, _2=LATE)
    table("rates", _1=LATE)
    run("CREATE VIEW v AS SELECT o.id, r.total, o.ds FROM orders o JOIN rates r ON o.id = r.id AND o.ds = r.ds")
    answer = ask("v", ds="2")
    assert answer.complete is False
    assert answer.why == f"{database}.rates has no partition ds=2"
    assert of(answer, "rates").missing == ((("ds", "2"),),)
    assert answer.fresh_as_of is None


def test_partition_of_sibling_table_is_missing(table, run, ask):
    table("orders", "ds hr", _1__00=EARLY, _1__01=EARLY, _2__00=EARLY)
    table("rates", "day hour", _1__00=LATE)
    run(
        "CREATE VIEW v AS SELECT o.id, o.ds, o.hr FROM orders o JOIN rates r ON o.id = r.id AND o.ds = r.day AND "
        "o.hr = r.hour"
    )
    answer = ask("v", ds="1")
    assert names(answer, "orders") == ["ds=1/hr=00", "ds=1/hr=01"]
    assert of(answer, "rates").missing == ((("day", "1"), ("hour", "01")),)
    assert len(of(ask("v"), "rates").missing) == 2


def test_number_of_hours_of_a_day_is_unknown(table, run, ask):
    """Later hours may not have been written yet."""
    table("orders", "ds hr", _1__00=EARLY, _1__01=EARLY)
    run("CREATE VIEW v AS SELECT id, ds, hr FROM orders")
    answer = ask("v", ds="1")
    assert (answer.complete, names(answer, "orders")) == (None, ["ds=1/hr=00", "ds=1/hr=01"])
    assert answer.why.startswith("nothing determines hr of ")
    assert [ask("v", ds="1", hr=hour).complete for hour in ("01", "02")] == [True, False]
    run("CREATE VIEW noon AS SELECT id, ds FROM orders WHERE hr = '01'")
    assert [ask("noon", ds=day).complete for day in "12"] == [True, False]


def test_number_of_partitions_by_a_time_is_unknown(catalog, days, run, ask, database):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "at", TimestampType()))
    by_hour = PartitionSpec(PartitionField(2, 1000, HourTransform(), "at_hour"))
    catalog.create_table(f"{database}.events", schema, partition_spec=by_hour)
    run("CREATE VIEW v AS SELECT d.id, d.ds FROM days d JOIN events e ON d.id = e.id")
    answer = ask("v", ds="2026-01-01")
    assert (answer.complete, "at_hour of" in answer.why) == (None, True)


def test_registered_view_partition_is_missing(table, run, ask):
    table("orders", _1=EARLY)
    run("CREATE VIEW v PARTITIONED ON (ds) AS SELECT id, ds FROM orders")
    assert ask("v").complete is True
    run("ALTER VIEW v ADD PARTITION (ds='1') PARTITION (ds='2')")
    assert of(ask("v"), "orders").missing == ((("ds", "2"),),)
    assert ask("v", ds="1").complete is True


def test_partitions_through_view_and_union(table, run, ask):
    table("orders", _1=EARLY, _2=LATE)
    table("older", "day", _1=EARLY, _0=EARLY)
    run("CREATE VIEW w AS SELECT id, ds AS d FROM orders UNION ALL SELECT id, day FROM older")
    run("CREATE VIEW v AS SELECT w.id, w.d AS ds FROM w WHERE w.id > 3")
    answer = ask("v", ds="1")
    assert (names(answer, "orders"), names(answer, "older")) == (["ds=1"], ["day=1"])


def test_filter_of_view_restricts_partitions(table, run, ask):
    table("orders", "ds hr", _1__00=EARLY, _1__01=EARLY)
    run("CREATE VIEW v AS SELECT id, ds FROM orders WHERE hr = '01'")
    answer = ask("v", ds="1")
    assert names(answer, "orders") == ["ds=1/hr=01"]
    assert of(answer, "orders").restricted == (("ds", "ds"), ("hr", "'01'"))


def test_unrestricted_table_returns_all_partitions_with_reason(table, run, ask):
    table("orders", _1=EARLY, _2=LATE)
    run("CREATE VIEW v AS SELECT id, concat(ds, '') AS ds FROM orders")
    answer = ask("v", ds="1")
    assert names(answer, "orders") == ["ds=1", "ds=2"]
    assert answer.complete is None
    assert "CONCAT" in of(answer, "orders").reasons[0]
    assert of(answer, "orders").all_partitions


def test_unrestricted_column_is_reported_besides_restricted_one(table, run, ask):
    table("orders", "ds hr", _1__01=EARLY, _1__02=EARLY, _2__01=LATE)
    run("CREATE VIEW v AS SELECT id, ds, concat(hr, '') AS hr FROM orders")
    answer = ask("v", ds="1", hr="01")
    assert names(answer, "orders") == ["ds=1/hr=01", "ds=1/hr=02"]
    assert of(answer, "orders").restricted == (("ds", "ds"),)
    assert "CONCAT" in of(answer, "orders").reasons[0]


@pytest.mark.parametrize(
    ("kind", "partitions", "questions", "expected"),
    [
        ("date", ["2026-01-01", "2026-01-02"], "2026-01-01", ["2026-01-01"]),
        ("bigint", ["7", "07", "8"], "007", ["07", "7"]),
        ("boolean", ["true", "false"], "TRUE", ["true"]),
        ("decimal(5,2)", ["1.5", "1.50", "1.6"], "1.500", ["1.5", "1.50"]),
        ("timestamp", ["2026-01-01 00:00:00", "2026-01-01 01:00:00"], "2026-01-01", None),
        ("double", ["0.0", "-0.0", "1.0"], "0", None),
    ],
)
def test_types_with_equal_values_of_different_text_restrict_nothing(
    raw, run, ask, database, kind, partitions, questions, expected
):
    """The result contains at least the partitions that an engine reads."""
    row = hive_row(database, "orders", "EXTERNAL_TABLE", EXTERNAL="TRUE")
    row.partitionKeys = [FieldSchema("p", kind, None)]
    raw.create_table(row)
    for value in partitions:
        raw.add_partition(Partition([value], database, "orders", 0, 0, row.sd, {}))
    run("CREATE VIEW v AS SELECT one, p FROM orders")
    assert names(ask("v", p=questions), "orders") == [f"p={value}" for value in expected or sorted(partitions)]
    assert ask("v", p=questions).complete is (None if expected is None else True)


def test_added_and_dropped_partitions_change_result(table, run, ask, raw, database):
    table("orders", _1=EARLY, _2=EARLY)
    run("CREATE VIEW v AS SELECT id, ds FROM orders")
    assert ask("v", ds="2").complete
    raw.drop_partition(database, "orders", ["2"], False)
    raw.add_partition(Partition(["3"], database, "orders", 0, 0, raw.get_table(database, "orders").sd, {}))
    assert [ask("v", ds=day).complete for day in "123"] == [True, False, True]
    raw.drop_partition(database, "orders", ["1"], False)
    assert ask("v", ds="1").complete is False
    assert ask("v").complete is True


def test_unpartitioned_table_is_one_partition(run, ask, raw, database):
    raw.create_table(hive_row(database, "plain", "EXTERNAL_TABLE", EXTERNAL="TRUE"))
    run("CREATE VIEW v AS SELECT one FROM plain")
    answer = ask("v")
    partition = of(answer, "plain").partitions[0]
    assert (partition.spec, partition.written is None) == ((), False)
    assert (answer.complete, answer.why) == (None, "no table behind it has partitions")


def test_dropped_table_makes_partition_incomplete(table, run, ask, raw, database):
    table("orders", _1=EARLY)
    run("CREATE VIEW v AS SELECT id, ds FROM orders")
    raw.drop_table(database, "orders", False)
    answer = ask("v", ds="1")
    assert (answer.complete, answer.why) == (False, f"{database}.orders does not exist")


def test_null_partition_does_not_match_value(table, run, ask, raw, database):
    table("orders", _1=EARLY)
    sd = raw.get_table(database, "orders").sd
    raw.add_partition(Partition(["__HIVE_DEFAULT_PARTITION__"], database, "orders", 0, 0, sd, {}))
    run("CREATE VIEW v AS SELECT id, ds FROM orders")
    assert names(ask("v", ds="1"), "orders") == ["ds=1"]
    assert len(of(ask("v"), "orders").partitions) == 2


@pytest.mark.parametrize("partition", [{"nope": "1"}, {"total": "x"}, {"ds": "__HIVE_DEFAULT_PARTITION__"}])
def test_invalid_partition_values_are_rejected(table, run, ask, partition):
    table("orders", _1=EARLY)
    run("CREATE VIEW v AS SELECT id, total, ds FROM orders")
    with pytest.raises(InvalidViewError):
        ask("v", **partition)


def test_numeric_partition_values_are_compared_as_numbers(raw, run, ask, database):
    row = hive_row(database, "byhour", "EXTERNAL_TABLE", EXTERNAL="TRUE")
    row.partitionKeys = [FieldSchema("hr", "int", None)]
    raw.create_table(row)
    raw.add_partition(Partition(["07"], database, "byhour", 0, 0, raw.get_table(database, "byhour").sd, {}))
    run("CREATE VIEW v AS SELECT one, hr FROM byhour")
    answer = ask("v", hr="7")
    assert (names(answer, "byhour"), answer.complete) == (["hr=07"], True)


def test_partitions_of_table_are_rejected(table, ask):
    table("orders", _1=EARLY)
    with pytest.raises(NoSuchViewError):
        ask("orders")


def test_partitions_of_iceberg_table(catalog, run, ask, database):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "ds", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "ds_part"))
    events = catalog.create_table(f"{database}.events", schema, partition_spec=spec)
    run("CREATE VIEW v AS SELECT id, ds FROM events")
    assert (ask("v", ds="1").complete, of(ask("v"), "events").partitions) == (False, ())
    events.append(pa.table({"id": [1, 2], "ds": ["1", "2"]}))
    first = events.current_snapshot()
    events.append(pa.table({"id": [3], "ds": ["2"]}))
    answer = ask("v", ds="1")
    assert names(answer, "events") == ["ds=1"]
    assert answer.complete is True
    assert answer.fresh_as_of == datetime.fromtimestamp(first.timestamp_ms / 1000, timezone.utc)
    assert of(answer, "events").partitions[0].trust is Trust.SNAPSHOT
    assert of(ask("v", ds="3"), "events").missing == ((("ds", "3"),),)


def test_files_of_unpartitioned_spec_make_completeness_unknown(catalog, run, ask, database):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "ds", StringType()))
    events = catalog.create_table(f"{database}.events", schema)
    events.append(pa.table({"id": [1], "ds": ["1"]}))
    with events.update_spec() as change:
        change.add_identity("ds")
    events.append(pa.table({"id": [2], "ds": ["2"]}))
    run("CREATE VIEW v AS SELECT id, ds FROM events")
    answer = ask("v", ds="2")
    assert names(answer, "events") == ["ds=2", ""]
    assert "not partitioned by ds" in of(answer, "events").reasons[-1]
    assert (answer.complete, answer.why) == (None, f"{database}.events has files that are not partitioned by ds")
    assert names(ask("v", ds="1"), "events") == [""]


def test_rows_of_iceberg_table_without_a_value_are_in_a_partition(run, ask, days):
    days.append(pa.table({"id": [3], "ds": pa.array([None], pa.string())}))
    run("CREATE VIEW v AS SELECT id, ds FROM days")
    for day, complete in (("2026-01-01", True), ("2026-01-03", False)):
        answer = ask("v", ds=day)
        assert (answer.complete, names(answer, "days")) == (complete, [f"ds={day}"] if complete else [])
        assert of(answer, "days").reasons == ()
    assert (ask("v").complete, names(ask("v"), "days")[-1]) == (True, "ds=__HIVE_DEFAULT_PARTITION__")


def test_files_before_first_partitioned_file_are_counted_in(catalog, run, ask, database):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "ds", StringType()))
    events = catalog.create_table(f"{database}.events", schema)
    events.append(pa.table({"id": [1], "ds": ["1"]}))
    with events.update_spec() as change:
        change.add_identity("ds")
    run("CREATE VIEW v AS SELECT id, ds FROM events")
    assert (ask("v", ds="1").complete, names(ask("v", ds="1"), "events")) == (None, [""])


TEXTS = ["a", "b", "None", "__HIVE_DEFAULT_PARTITION__", None]


@pytest.mark.parametrize("seed", [*range(6), *extended(*range(6, 20))])
def test_partitions_of_evolved_iceberg_table_are_those_of_its_files(catalog, run, ask, database, seed):
    """The rows of the listed partitions are those of the files that may contain the value, whatever their spec."""
    source = random.Random(seed)
    schema = Schema(
        NestedField(1, "id", LongType()), NestedField(2, "ds", StringType()), NestedField(3, "k", LongType())
    )
    table = catalog.create_table(f"{database}.t", schema)
    for _ in range(8):
        fields = {field.name: field.source_id for field in table.spec().fields}
        if source.random() < 0.5:
            name = source.choice(["p", "q"])
            with table.update_spec() as change:
                if name in fields:
                    change.remove_field(name)
                else:
                    usual = {"p": 2, "q": 3}[name]
                    free = [number for number in (usual, usual, usual, 2, 3) if number not in fields.values()]
                    change.add_field(schema.find_column_name(source.choice(free)), IdentityTransform(), name)
        count = source.randrange(1, 4)
        texts = pa.array([source.choice(TEXTS) for _ in range(count)], pa.string())
        keys = pa.array([source.choice([1, 22, None]) for _ in range(count)], pa.int64())
        table.append(pa.table({"id": list(range(count)), "ds": texts, "k": keys}))
    run("CREATE VIEW v AS SELECT id, ds, k FROM t")
    names_by_field = {field.field_id: field.name for spec in table.specs().values() for field in spec.fields}
    current = {field.name: schema.find_column_name(field.source_id) for field in table.spec().fields}
    for values in [{"ds": "a"}, {"ds": "None"}, {"k": "22"}, {"ds": "a", "k": "1"}, {"ds": "missing"}, {}]:
        answer = ask("v", **values)
        if not current:
            continue
        if len(set(names_by_field.values())) < len(names_by_field):
            assert (answer.complete, of(answer, "t").is_determined) == (None, False)
            continue
        wanted = {column: value for column, value in values.items() if column in current.values()}
        files = [(task.file.record_count, identity_values(table, task.file)) for task in table.scan().plan_files()]
        needed = [count for count, of_file in files if may_contain({c: v for _, c, v in of_file}, wanted)]
        # Values are found by the names of fields, and the name of Hive's default partition counts as unknown.
        followed = [
            (count, {c: v for name, c, v in of_file if current.get(name) == c and v != DEFAULT_PARTITION})
            for count, of_file in files
        ]
        expected = [(count, of_file) for count, of_file in followed if may_contain(of_file, wanted)]
        entries = [entry for part in of(answer, "t").partitions for entry in json.loads(part.content)]
        assert sum(entry["record_count"] for entry in entries) == sum(count for count, _ in expected) >= sum(needed)
        if wanted and values.keys() == set(current.values()):
            is_known = all(of_file.keys() >= values.keys() for _, of_file in expected)
            assert answer.complete is (bool(expected) if is_known else None)


def identity_values(table, file) -> list[tuple[str, str, object]]:
    """The partition fields of a data file: name, column and value."""
    fields = table.specs()[file.spec_id].fields
    return [
        (field.name, table.schema().find_column_name(field.source_id), file.partition[position])
        for position, field in enumerate(fields)
    ]


def may_contain(values: dict[str, object], wanted: dict[str, str]) -> bool:
    """Whether a file with these partition values may contain rows with the wanted values; NULL is not one."""
    return all(
        column not in values or (values[column] is not None and str(values[column]) == text)
        for column, text in wanted.items()
    )


@pytest.fixture
def days(catalog, database):
    """An Iceberg table with a tag and a branch of its first snapshot, and a second one for another day."""
    by_day = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "ds"))
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "ds", StringType()))
    days = catalog.create_table(f"{database}.days", schema, partition_spec=by_day)
    days.append(pa.table({"id": [1], "ds": ["2026-01-01"]}))
    first = days.current_snapshot().snapshot_id
    days.manage_snapshots().create_tag(first, "start").create_branch(first, "work").commit()
    days.append(pa.table({"id": [2], "ds": ["2026-01-02"]}))
    return days


@pytest.fixture
def past(catalog, database, days):
    """Creates a view over another state of the table, and one over that view; returns the clause in its full form."""

    def make(clause: str) -> str:
        state = clause.format(days.history()[0].snapshot_id)
        catalog.execute(f"CREATE VIEW past AS SELECT id, ds FROM days {state}", database=database)
        catalog.execute("CREATE VIEW above AS SELECT ds FROM past", database=database)
        full = state.removeprefix("FOR ").replace("SYSTEM_TIME", "TIMESTAMP")
        return f"FOR {full}" if "AS OF" in full else full

    return make


@pytest.mark.parametrize("clause", ["VERSION AS OF {}", "FOR VERSION AS OF 'work'", "VERSION AS OF 'start'"])
def test_partitions_of_named_version(database, days, past, ask, clause):
    state = past(clause)
    for view in ("past", "above"):
        answer = ask(view, ds="2026-01-01")
        assert (answer.complete, names(answer, "days")) == (True, ["ds=2026-01-01"])
        assert answer.last_written.timestamp() * 1000 == pytest.approx(days.history()[0].timestamp_ms)
        assert not of(answer, "days").is_current and of(answer, "days").state == state
        assert names(ask(view), "days") == ["ds=2026-01-01"]
        answer = ask(view, ds="2026-01-02")  # not in the old state, but in the current one
        assert (answer.complete, names(answer, "days")) == (False, [])
        assert answer.why == f"{database}.days {state} has no partition ds=2026-01-02"


def test_version_of_branch_follows_branch(days, past, ask):
    past("FOR VERSION AS OF 'main'")
    days.append(pa.table({"id": [3], "ds": ["2026-01-03"]}))
    assert [ask("past", ds=f"2026-01-0{day}").complete for day in (1, 2, 3, 4)] == [True, True, True, False]


def test_version_with_another_column_name_is_not_followed(days, run, ask):
    with days.update_schema() as change:
        change.rename_column("ds", "day")
    run(f"CREATE VIEW past AS SELECT id, day FROM days VERSION AS OF {days.history()[0].snapshot_id}")
    assert ask("past", day="2026-01-02").complete is None


@pytest.mark.parametrize(
    "clause",
    [
        "TIMESTAMP AS OF '2020-01-01'",
        "FOR SYSTEM_TIME AS OF '2020-01-01'",
        "VERSION AS OF 'gone'",
        "VERSION AS OF 77",
        "WITH ('snapshot-id' = '{}')",
    ],
)
def test_partitions_of_undetermined_state_are_unknown(past, ask, clause):
    state = past(clause)
    for view in ("past", "above"):
        answer = ask(view, ds="2026-01-02")
        assert (answer.complete, answer.fresh_as_of, answer.last_written) == (None, None, None)
        table = of(answer, "days")
        assert not table.is_current and not table.is_determined and table.state == state
        assert answer.why == f"the partitions of {table.table} are not determined: {table.reasons[-1]}"
        assert "is not determined" in answer.why or "no snapshot, branch or tag is called" in answer.why
    assert ask("past").complete is None


def test_time_travel_of_hive_table_is_rejected(catalog, database, table, ask):
    table("plain", d1=EARLY)
    catalog.execute("CREATE VIEW past AS SELECT id, ds FROM plain TIMESTAMP AS OF '2020-01-01'", database=database)
    with pytest.raises(InvalidViewError, match="has only its current state"):
        ask("past", ds="d1")


def test_options_of_hive_table_are_no_time_travel(catalog, database, table, ask):
    table("plain", d1=EARLY)
    catalog.execute("CREATE VIEW v AS SELECT id, ds FROM plain WITH ('fetchsize' = '5')", database=database)
    answer = ask("v", ds="d1")
    assert (answer.complete, names(answer, "plain"), of(answer, "plain").is_current) == (None, ["ds=d1"], True)


@pytest.mark.parametrize(
    "parameters", [{"spark.sql.sources.provider": "delta"}, {"storage_handler": "org.apache.hadoop.hive.hbase"}]
)
def test_partitions_of_other_formats_are_unknown(table, run, ask, raw, database, parameters):
    """No write to them changes the metastore."""
    table("orders", d1=EARLY)
    raw.create_table(hive_row(database, "other", "EXTERNAL_TABLE", transient_lastDdlTime=str(EARLY), **parameters))
    run("CREATE VIEW v PARTITIONED ON (ds) AS SELECT o.id, o.ds FROM orders o JOIN other ON o.id = other.one")
    run("ALTER VIEW v ADD PARTITION (ds='d1')")
    answer = ask("v", ds="d1")
    assert (answer.complete, answer.fresh_as_of, answer.last_written, answer.stale) == (None, None, None, None)


def break_file(catalog, raw, database, hive_view):
    catalog.store.files.delete(catalog.load_view(f"{database}.w").metadata_location)


def break_column(catalog, raw, database, hive_view):
    row = raw.get_table(database, "rates")
    row.sd.cols = [FieldSchema("other", "bigint", None)]
    raw.alter_table_with_environment_context(database, "rates", row, EnvironmentContext({}))


def replace_by(text):
    def change(catalog, raw, database, hive_view):
        raw.drop_table(database, "w", False)
        hive_view("w", text.format(database), "id")

    return change


@pytest.mark.parametrize(
    "change",
    [
        break_file,
        break_column,
        replace_by("this is no query"),
        replace_by("select v.id from {}.v"),
        replace_by("select x.id from {0}.rates r lateral view {0}.f(r.id) x as id, {0}.g(r.id)"),
    ],
    ids=["file", "column", "no query", "cycle", "function"],
)
def test_unreadable_source_makes_answer_unknown(
    table, run, ask, catalog, raw, database, other_database, hive_table, hive_view, change
):
    """The view reads `orders` by day, and `w`, which reads an unpartitioned table."""
    table("orders", d1=EARLY)
    hive_table("rates", "id")
    run("CREATE VIEW w AS SELECT id FROM rates")
    run("CREATE VIEW v PARTITIONED ON (ds) AS SELECT o.id, o.ds FROM orders o JOIN w ON o.id = w.id")
    run("ALTER VIEW v ADD PARTITION (ds='d1')")
    answer = ask("v", ds="d1")
    assert (answer.complete, answer.problem) == (True, None)
    change(catalog, raw, database, hive_view)
    answer = ask("v", ds="d1")
    assert (answer.complete, answer.fresh_as_of, answer.last_written, answer.stale) == (None, None, None, None)
    assert "cannot be analyzed" in answer.why and answer.problem == answer.why == answer.stale_reason
    assert catalog.dependencies.check_view(f"{database}.v").validity.value in ("invalid", "blocked", "unknown")


def test_sampled_table_needs_all_partitions(table, run, ask):
    table("days", d1=EARLY, d2=LATE)
    run("CREATE VIEW sample AS SELECT id, ds FROM days TABLESAMPLE (2 ROWS)")
    answer = ask("sample", ds="d1")
    assert (answer.complete, names(answer, "days")) == (None, ["ds=d1", "ds=d2"])


def marks(catalog, name):
    return {"/".join(value for _, value in item.partition): item.stale for item in catalog.partitions.marked(name)}


@pytest.fixture
def months(table, run, catalog, database):
    """A view by day and a monthly view over days of the past; both are marked."""
    table("days", **{f"_{day}": EARLY for day in ("2026-01-30", "2026-01-31", "2026-02-01")})
    run("CREATE VIEW daily PARTITIONED ON (ds) AS SELECT id, total, ds FROM days")
    run(
        "CREATE VIEW monthly PARTITIONED ON (m) AS SELECT sum(total) AS total, substr(ds, 1, 7) AS m FROM days "
        "GROUP BY substr(ds, 1, 7)"
    )
    catalog.partitions.add(f"{database}.daily", {"ds": "2026-01-30"}, {"ds": "2026-01-31"}, {"ds": "2026-02-01"})
    catalog.partitions.add(f"{database}.monthly", {"m": "2026-01"}, {"m": "2026-02"})


def rewrite(raw, database, day, seconds=str(LATE)):
    """Hive writes the partition after it was marked."""
    raw.drop_partition(database, "days", [day], False)
    add(raw, database, day, seconds)


def add(raw, database, day, seconds):
    sd = raw.get_table(database, "days").sd
    raw.add_partition(Partition([day], database, "days", 0, 0, sd, {"transient_lastDdlTime": seconds}))


@pytest.mark.parametrize(
    ("change", "daily", "monthly"),
    [
        (lambda raw, database: None, [], []),
        (lambda raw, database: rewrite(raw, database, "2026-01-31"), ["2026-01-31"], ["2026-01"]),
        (lambda raw, database: add(raw, database, "2026-02-02", str(LATE)), [], ["2026-02"]),
        (lambda raw, database: add(raw, database, "2026-01-01", str(EARLY)), [], ["2026-01"]),
        (
            lambda raw, database: raw.drop_partition(database, "days", ["2026-01-30"], False),
            ["2026-01-30"],
            ["2026-01"],
        ),
        (lambda raw, database: raw.drop_table(database, "days", False), "all", "all"),
        (
            lambda raw, database: rewrite(raw, database, "2026-01-31", f"{LATE}000"),
            ["2026-01-31"],
            ["2026-01"],
        ),
    ],
    ids=["unchanged", "written", "added", "added with an old time", "dropped", "table dropped", "milliseconds"],
)
def test_marks_are_stale_after_change_of_needed_partition(months, raw, catalog, database, change, daily, monthly):
    change(raw, database)
    for view, expected in (("daily", daily), ("monthly", monthly)):
        found = marks(catalog, f"{database}.{view}")
        assert found == {value: expected == "all" or value in expected for value in found}, view
    assert len(catalog.partitions.marked(database)) == 5


def test_answer_has_time_and_state_of_mark(months, ask, raw, database):
    answer = ask("daily", ds="2026-01-31")
    assert answer.marked_at > at(EARLY)
    assert (answer.stale, answer.stale_reason) == (False, "nothing that it needs has changed")
    rewrite(raw, database, "2026-01-31")
    answer = ask("daily", ds="2026-01-31")
    assert answer.stale is True and answer.stale_reason.startswith(
        f"{database}.days ds=2026-01-31 was written at 2027-"
    )
    assert (ask("daily", ds="2026-01-01").marked_at, ask("daily").stale) == (None, None)


def test_mark_of_other_program_is_stale_or_unknown(months, raw, catalog, database):
    sd = raw.get_table(database, "daily").sd
    raw.drop_partition(database, "daily", ["2026-01-31"], False)
    raw.add_partition(Partition(["2026-01-31"], database, "daily", 0, 0, sd, {}))
    assert marks(catalog, f"{database}.daily")["2026-01-31"] is None
    rewrite(raw, database, "2026-01-31")
    assert marks(catalog, f"{database}.daily")["2026-01-31"] is True


@pytest.mark.parametrize("redefined", ["middle", "top"])
def test_marks_are_stale_after_new_definition(months, run, catalog, database, redefined):
    run("CREATE VIEW middle AS SELECT id, total, ds FROM days")
    run("CREATE VIEW top PARTITIONED ON (ds) AS SELECT id, total, ds FROM middle")
    catalog.partitions.add(f"{database}.top", {"ds": "2026-01-30"})
    view = catalog.load_view(f"{database}.middle")
    view.update().set_properties(owner="bi").commit()
    assert marks(catalog, f"{database}.top") == {"2026-01-30": False}
    partitioned = " PARTITIONED ON (ds)" if redefined == "top" else ""
    source = "middle" if redefined == "top" else "days"
    run(f"CREATE OR REPLACE VIEW {redefined}{partitioned} AS SELECT id, 2 * total AS total, ds FROM {source}")
    assert marks(catalog, f"{database}.top") == {"2026-01-30": True}


def test_mark_over_iceberg_table_is_exact_within_a_second(catalog, run, database):
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "ds", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "ds"))
    events = catalog.create_table(f"{database}.events", schema, partition_spec=spec)
    events.append(pa.table({"id": [1, 2], "ds": ["1", "2"]}))
    run("CREATE VIEW v PARTITIONED ON (ds) AS SELECT id, ds FROM events")
    catalog.partitions.add(f"{database}.v", {"ds": "1"}, {"ds": "2"})
    assert marks(catalog, f"{database}.v") == {"1": False, "2": False}
    events.append(pa.table({"id": [3], "ds": ["2"]}))
    assert marks(catalog, f"{database}.v") == {"1": False, "2": True}


def test_mark_over_iceberg_table_is_stale_after_removal_of_a_file(catalog, run, ask, database, days):
    """The remaining files of the partition are as old as before."""
    days.append(pa.table({"id": [3], "ds": ["2026-01-01"]}))
    run("CREATE VIEW v PARTITIONED ON (ds) AS SELECT id, ds FROM days")
    catalog.partitions.add(f"{database}.v", {"ds": "2026-01-01"}, {"ds": "2026-01-02"})
    written = ask("v", ds="2026-01-01").last_written
    days.delete("id = 1")
    assert ask("v", ds="2026-01-01").last_written == written
    assert marks(catalog, f"{database}.v") == {"2026-01-01": True, "2026-01-02": False}


def test_scheduler_marks_complete_and_stale_partitions(months, raw, catalog, database):
    view = f"{database}.daily"
    assert mark(catalog, view, ["2026-02-02"]) == [f"ds=2026-02-02: {database}.days has no partition ds=2026-02-02"]
    before = catalog.partitions.dependencies(view, {"ds": "2026-01-30"}).marked_at
    raw.drop_partition(database, "days", ["2026-01-31"], False)
    add(raw, database, "2026-01-31", str(EARLY + 1))
    add(raw, database, "2026-02-02", str(EARLY))
    assert marks(catalog, view)["2026-01-31"] is True
    assert mark(catalog, view, ["2026-02-02"]) == []
    assert marks(catalog, view) == dict.fromkeys(["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"], False)
    assert catalog.partitions.dependencies(view, {"ds": "2026-01-30"}).marked_at == before


def test_monthly_view_needs_partitions_of_month(table, run, ask):
    table("days", **{f"_{day}": EARLY for day in ("2026-01-30", "2026-01-31", "2026-02-01", "no-date")})
    run("CREATE VIEW monthly AS SELECT substr(ds, 1, 7) AS m, sum(total) AS total FROM days GROUP BY substr(ds, 1, 7)")
    answer = ask("monthly", m="2026-01")
    assert names(answer, "days") == ["ds=2026-01-30", "ds=2026-01-31"]
    assert of(answer, "days").restricted == (("ds", "SUBSTRING(ds, 1, 7) = m"),)
    assert answer.complete is None and answer.why.startswith("only expressions restrict")
    run("CREATE VIEW dated AS SELECT year(ds) AS y, total FROM days")
    assert names(ask("dated", y="2026"), "days") == names(ask("dated"), "days")
    assert names(ask("dated", y="2025"), "days") == ["ds=no-date"]


def test_partition_that_text_names_is_missing(table, run, ask, database):
    table("orders", "ds hr", _1__01=EARLY, _2__02=EARLY)
    run("CREATE VIEW v AS SELECT id FROM orders WHERE ds = '9' AND hr = '01'")
    assert (ask("v").complete, ask("v").why) == (False, f"{database}.orders has no partition ds=9, hr=01")
    run("CREATE VIEW w AS SELECT id FROM orders WHERE ds = '1' AND hr = '01'")
    assert ask("w").complete is True
    run("CREATE VIEW u AS SELECT id FROM w UNION ALL SELECT id FROM orders WHERE ds = '2' AND hr = '01'")
    assert of(ask("u"), "orders").missing == ((("ds", "2"), ("hr", "01")),)
    run("CREATE VIEW never AS SELECT id FROM orders WHERE ds = '9' AND ds > '95' AND hr = '01'")
    assert of(ask("never"), "orders").missing == ()


def test_window_by_month_needs_all_days_of_month(table, run, ask):
    table("days", **{f"_{day}": EARLY for day in ("2026-01-30", "2026-01-31", "2026-02-01")})
    window = "sum(total) OVER (PARTITION BY substr(ds, 1, 7)) AS s"
    run(f"CREATE VIEW v AS SELECT ds, substr(ds, 1, 7) AS m, {window} FROM days")
    answer = ask("v", ds="2026-01-30")
    assert len(names(answer, "days")) == 3  # the month of a day is not derived
    assert "reaches over other values of ds" in of(answer, "days").reasons[0]
    answer = ask("v", m="2026-01")
    assert (names(answer, "days"), of(answer, "days").reasons) == (["ds=2026-01-30", "ds=2026-01-31"], ())


def test_condition_restricts_whole_view_and_excludes_absent_partitions(table, run, ask):
    table("days", **{f"_{day}": EARLY for day in ("2026-01-30", "2026-01-31", "2026-02-01")})
    run("CREATE VIEW recent AS SELECT id, ds FROM days WHERE ds >= '2026-01-31'")
    assert names(ask("recent"), "days") == ["ds=2026-01-31", "ds=2026-02-01"]
    # The view has no rows of a day before, so it needs no partition of that day.
    for day, complete in (("2026-01-30", True), ("2026-01-29", True), ("2026-02-01", True), ("2026-02-02", False)):
        assert ask("recent", ds=day).complete is complete
