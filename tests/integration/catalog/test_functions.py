"""Permanent functions of the metastore that a view calls by database and name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore.ttypes import Function, FunctionType, PrincipalType
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.legacy_import.plan import PlanStatus, plan_import
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.catalog.samples import hive_row

NUMBERS = Schema(NestedField(1, "one", IntegerType(), required=False))
UPPER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper"


@pytest.fixture
def functions(metastore: MetastoreProcess) -> Iterator[HMSClient]:
    with HMSClient(host="127.0.0.1", port=metastore.port) as client:
        yield client


@pytest.fixture
def shout(functions: HMSClient, database: str, raw: Client) -> Iterator[str]:
    """A function of the database, and a table `t` with a column `one`."""
    raw.create_table(hive_row(database, "t", "MANAGED_TABLE"))
    functions.create_function(
        Function(
            functionName="shout",
            dbName=database,
            className=UPPER,
            ownerName="hive",
            ownerType=PrincipalType.USER,
            createTime=0,
            functionType=FunctionType.JAVA,
            resourceUris=[],
        )
    )
    yield "shout"
    if "shout" in functions.get_functions(database, "*"):
        functions.drop_function(database, "shout")


@pytest.mark.parametrize("dialect", ["hive", "spark"])
@pytest.mark.parametrize("call", ["{0}.shout(one)", "`{0}`.`SHOUT`(one)", "lower({0}.shout(one))"])
def test_existing_function_is_accepted(
    catalog: HiveViewCatalog, database: str, shout: str, dialect: str, call: str
) -> None:
    query = f"SELECT cast({call.format(database)} AS string) AS x FROM {database}.t"
    catalog.execute(f"CREATE VIEW {database}.v AS {query}", dialect=dialect)
    assert catalog.dependencies.check_view(f"{database}.v").problems == ()


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("hive", "{0}.Whisper"),
        ("spark", "{0}.Whisper"),
        ("hive", "`{0}`.`Whisper`"),
        ("spark", "`{0}`.`Whisper`"),
        ("hive", "no_such_database.shout"),
    ],
)
def test_missing_function_is_rejected_at_its_position(
    catalog: HiveViewCatalog, database: str, shout: str, dialect: str, name: str
) -> None:
    text = f"CREATE VIEW {database}.v AS SELECT cast({name.format(database)}(one) AS int) AS x FROM {database}.t"
    with pytest.raises(
        SqlError, match=r"There is no function \w+\.(Whisper|shout) in the metastore: create it first"
    ) as caught:
        catalog.execute(text, dialect=dialect)
    function = text.index("Whisper" if "Whisper" in name else "shout")
    assert (caught.value.line, caught.value.column) in ((1, function + 1), (1, function))
    assert not catalog.view_exists(f"{database}.v")


@pytest.mark.parametrize(
    "call", ["system.bucket(2, one)", "prod.bucket(2, one)", "builtin.abs(one)", "session.abs(one)"]
)
def test_functions_of_spark_and_iceberg_are_not_looked_up(catalog: HiveViewCatalog, database: str, call: str) -> None:
    catalog.create_table(f"{database}.numbers", schema=NUMBERS)
    catalog.execute(f"CREATE VIEW {database}.v AS SELECT cast({call} AS int) AS x FROM {database}.numbers")


def test_check_reports_a_function_that_was_dropped(
    catalog: HiveViewCatalog, database: str, functions: HMSClient, shout: str
) -> None:
    text = f"SELECT cast({database}.shout(one) AS string) AS x FROM {database}.t"
    catalog.execute(f"CREATE VIEW {database}.v AS {text}")
    assert catalog.dependencies.check_view(f"{database}.v").problems == ()
    functions.drop_function(database, "shout")
    checked = catalog.dependencies.check_view(f"{database}.v")
    assert checked.validity.value == "invalid"
    assert [problem.text for problem in checked.problems] == [f"there is no function {database}.shout in the metastore"]


@pytest.mark.parametrize(
    ("name", "status"), [("shout", PlanStatus.READY), ("whisper", PlanStatus.REFUSED)], ids=["existing", "missing"]
)
def test_import_of_a_hive_view(
    catalog: HiveViewCatalog, database: str, raw: Client, shout: str, name: str, status: PlanStatus
) -> None:
    row = hive_row(database, "v", "VIRTUAL_VIEW")
    row.viewOriginalText = f"select {database}.{name}(one) as one from {database}.t"
    row.viewExpandedText = f"select {database}.{name}(`t`.`one`) as `one` from `{database}`.`t`"
    raw.create_table(row)
    [entry] = plan_import(catalog, databases=[database]).entries
    assert entry.status is status, entry.problem
    if entry.problem is not None:
        assert (entry.problem.reason.value, entry.problem.text.partition(": ")[0]) == (
            "unknown-function",
            f"line 1:{8 + len(database) + 1} There is no function {database}.whisper in the metastore",
        )
