"""hive_views with real metastores of the matching versions on upgraded databases."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.errors import DamagedRowWarning, NotAnIcebergViewError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.local_metastore.distributions import RELEASES
from hive_views.local_metastore.jvm import Launch
from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import Database, StandaloneMetastore
from hive_views.schema_upgrade import Address, apply, detect, plan, verify
from hive_views.schema_upgrade.derby_session import derby_jvm
from hive_views.sql.analysis.validity import Validity
from tests.integration.schema_upgrade.conftest import WHOLE
from tests.integration.schema_upgrade.contents import change
from tests.integration.schema_upgrade.databases import Databases, DerbyDatabases, SqlDatabases
from tests.integration.schema_upgrade.servers import PASSWORD
from tests.integration.schema_upgrade.states import CACHE, VARIANTS, script

SERVERS = {"2.3.0": "2.3.10", "3.1.0": "3.1.3", "4.0.0": "4.0.1"}
OWN_DERBY = {"3.1.3": "10.10.2.0", "4.0.1": "10.14.2.0"}
"""The Derby version of a Hive release, which cannot open databases created by newer versions."""

QUICK_CASES = [("2.3.0", "derby"), ("3.1.0", "postgresql"), ("4.0.0", "mariadb")]
ALL_CASES = [(state, kind) for state in SERVERS for kind in ("mariadb", "postgresql", "derby")]
ALL_CASES += [(name, kind) for name, (_, changes) in VARIANTS.items() for kind in changes if "compact" not in name]

TEXT = "SELECT a, 'naïve 東京' AS place FROM sales.t"

REQUIRED_BY_DETECT = ("TBLS", "TABLE_PARAMS", "DBS", "SDS")
"""Tables without which a database is no metastore."""


class OldMetastore(EmbeddedMetastore):
    """Hive 2.3.10 of PySpark's jars on MariaDB or PostgreSQL; it may not change the schema."""

    def __init__(self, directory: Path, databases: SqlDatabases, address: Address) -> None:
        mysql = databases.server.kind == "mysql"
        driver = RELEASES["3.1.3"].mysql_driver if mysql else Artifact("org.postgresql", "postgresql", "42.7.4")
        (self._driver,) = fetch([driver], CACHE)
        super().__init__(
            directory,
            properties={
                "javax.jdo.option.ConnectionURL": databases.server.jdbc_url(address.database, old_driver=True),
                "javax.jdo.option.ConnectionDriverName": "com.mysql.cj.jdbc.Driver"
                if mysql
                else "org.postgresql.Driver",
                "javax.jdo.option.ConnectionUserName": "hive",
                "javax.jdo.option.ConnectionPassword": PASSWORD,
                "datanucleus.schema.autoCreateAll": "false",
                "hive.metastore.schema.verification": "true",
            },
        )

    def _prepare(self) -> Launch:
        launch = super()._prepare()
        return Launch(
            java=launch.java,
            class_path=(*launch.class_path, str(self._driver)),
            serve=launch.serve,
            options=launch.options,
            environment=launch.environment,
            max_memory_mb=launch.max_memory_mb,
        )


@contextmanager
def old_derby(tmp_path: Path, version: str) -> Iterator[DerbyDatabases]:
    """Databases created by the Derby version of a Hive release."""
    number = OWN_DERBY[version]
    jars = fetch([Artifact("org.apache.derby", name, number) for name in ("derby", "derbytools")], CACHE)
    folder = tmp_path / "jars"
    folder.mkdir()
    for jar in jars:
        shutil.copy(jar, folder)
    with derby_jvm("the tests", folder) as jvm:
        yield DerbyDatabases(tmp_path, jvm)


def metastore(directory: Path, version: str, databases: Databases, address: Address) -> MetastoreProcess:
    """A metastore on a database; a Derby database must be in its directory."""
    if isinstance(databases, SqlDatabases):
        if version == "2.3.10":
            return OldMetastore(directory, databases, address)
        database = Database(
            kind=databases.server.kind,
            port=databases.server.port,
            name=address.database,
            user="hive",
            password=PASSWORD,
        )
        return StandaloneMetastore(directory, version=version, database=database, cache=CACHE)
    if version == "2.3.10":
        return EmbeddedMetastore(directory, properties={"datanucleus.schema.autoCreateAll": "false"})
    return StandaloneMetastore(directory, version=version, cache=CACHE)


def use_views(running: MetastoreProcess, *, expect_intact_texts: bool) -> None:
    """Create, read, replace and drop views through a metastore."""
    catalog = HiveViewCatalog("upgraded", uri=running.uri, warehouse=running.warehouse)
    catalog.create_namespace("fresh")
    with warnings.catch_warnings():
        if expect_intact_texts:
            warnings.simplefilter("error", DamagedRowWarning)
        catalog.execute("CREATE VIEW fresh.w COMMENT 'made after the upgrade' AS SELECT a FROM sales.t")
        catalog.execute(f"CREATE VIEW fresh.x AS {TEXT}")
    assert [field.name for field in catalog.load_view("fresh.w").schema().fields] == ["a"]
    assert [field.name for field in catalog.load_view("fresh.x").schema().fields] == ["a", "place"]
    catalog.execute("CREATE OR REPLACE VIEW fresh.w AS SELECT a, a + 1 AS b FROM sales.t")
    assert [field.name for field in catalog.load_view("fresh.w").schema().fields] == ["a", "b"]
    assert sorted(name[-1] for name in catalog.list_views("fresh")) == ["w", "x"]
    # Views from before the upgrade are Hive views.
    with pytest.raises(NotAnIcebergViewError):
        catalog.load_view("sales.v")
    finding = next(check for check in catalog.dependencies.check_views("sales") if check.view.name == "v")
    assert finding.validity is Validity.VALID
    catalog.drop_view("fresh.x")
    catalog.close()


@pytest.mark.parametrize(("state", "kind"), ALL_CASES if WHOLE else QUICK_CASES)
def test_hive_runs_on_upgraded_database(state: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    version = SERVERS[state.split()[0]]
    home = tmp_path / "metastore"
    if kind == "derby" and version in OWN_DERBY:
        with old_derby(tmp_path, version) as old_databases:
            address = old_databases.copy(state)
    else:
        address = request.getfixturevalue(kind).copy(state)
    databases: Databases = request.getfixturevalue(kind)
    if isinstance(databases, DerbyDatabases):
        home.mkdir()
        shutil.move(address.database, home / "metastore_db")
        address = databases.address(home / "metastore_db")
    # PySpark's Derby upgrades databases of the older Derby of the server.
    with databases.open(address) as session:
        apply(session, plan(detect(session)))
        assert verify(session).complete
    with metastore(home, version, databases, address) as running:
        use_views(running, expect_intact_texts=kind != "derby")
    with databases.open(address) as session:
        report = verify(session)
        assert report.complete, "rows written by the server since need no upgrade"
        assert "fresh.w" not in {check.view for check in report.broken}
        files = MetadataFiles({})
        assert "fresh.w" not in {check.view for check in verify(session, files=files).broken}
        change(session, "UPDATE [TBLS] SET [VIEW_ORIGINAL_TEXT] = 'SELECT a FROM sales.t' WHERE [TBL_NAME] = 'w'")
        drifted = {check.view: check.validity for check in verify(session, files=files).broken}
        assert drifted["fresh.w"] == "drifted", "the row was changed without the metadata file"


@pytest.mark.parametrize("kind", ["mariadb", "postgresql", "derby"] if WHOLE else ["mariadb"])
def test_upgrade_before_and_after_hive_scripts(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A 1.2 database is upgraded, changed to 2.3 by Hive's scripts, upgraded again, and used by Hive 2.3."""
    databases: Databases = request.getfixturevalue(kind)
    home = tmp_path / "metastore"
    address = databases.copy("1.2.0")
    if isinstance(databases, DerbyDatabases):
        home.mkdir()
        shutil.move(address.database, home / "metastore_db")
        address = databases.address(home / "metastore_db")
    with databases.open(address) as session:
        apply(session, plan(detect(session)))
        remaining = [hive_script.name for hive_script in plan(detect(session), "2.3.0").hive_scripts]
    assert [name.split(".", 1)[0] for name in remaining] == ["upgrade-1", "upgrade-2", "upgrade-2", "upgrade-2"]
    for name in remaining:
        printed = databases.run_script(address, script(databases.dialect, name))
        assert "ERROR" not in printed, printed
    with databases.open(address) as session:
        assert detect(session).version == "2.3.0"
        again = apply(session, plan(detect(session)))
        expected = {
            "mariadb": ("TABLE_PARAMS.PARAM_VALUE utf8mb4",),
            "derby": ("TABLE_PARAMS.PARAM_VALUE wide",),
            "postgresql": (),
        }[kind]
        assert again.done == expected
        assert verify(session).complete
    with metastore(home, "2.3.10", databases, address) as running:
        use_views(running, expect_intact_texts=kind != "derby")


def change_views(running: MetastoreProcess, database: str) -> None:
    """Each change of a view in a database of its own, which is dropped again."""
    catalog = HiveViewCatalog("gaps", uri=running.uri, warehouse=running.warehouse)
    try:
        catalog.create_namespace(database)
        catalog.execute(f"CREATE VIEW {database}.w AS SELECT a FROM sales.t")
        catalog.execute(f"CREATE OR REPLACE VIEW {database}.w AS SELECT a, a + 1 AS b FROM sales.t")
        catalog.rename_view(f"{database}.w", f"{database}.x")
        assert len(catalog.load_view(f"{database}.x").schema().fields) == 2
        catalog.drop_view(f"{database}.x")
        catalog.drop_namespace(database)
    finally:
        catalog.close()


@pytest.mark.parametrize("state", ["2.3.0", "4.0.0"] if WHOLE else ["2.3.0"])
def test_metastore_works_without_a_table_that_verify_does_not_require(
    state: str, tmp_path: Path, postgresql: SqlDatabases
) -> None:
    """Each table is renamed below a running metastore, and named back."""
    address = postgresql.copy(state)
    with postgresql.open(address) as session:
        apply(session, plan(detect(session)))
        tables = [table.name for table in detect(session, rows=False).tables]
        with metastore(tmp_path / "metastore", SERVERS[state], postgresql, address) as running:
            change_views(running, "before")
            unused = []
            for number, table in enumerate(tables):
                change(session, f"ALTER TABLE [{table}] RENAME TO [GONE]")
                try:
                    report = None if table in REQUIRED_BY_DETECT else verify(session, views=False)
                    if report is not None and report.complete:
                        change_views(running, f"without_{number}")
                        unused.append(table)
                finally:
                    change(session, f"ALTER TABLE [GONE] RENAME TO [{table}]")
    assert len(unused) > 10, "those of transactions and compactions"
