"""The combinations of versions, and the tests that each can change; the tables of docs/compatibility.md list them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hive_views.spark.versions import ICEBERG_VARIABLE, SPARK_LINES

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
"""The minor versions of Python; CI runs on 3.11."""
SQLGLOTS = tuple(f"30.{minor}" for minor in range(8, 31) if minor != 28)
"""The minor versions of sqlglot that setup.cfg accepts; there is no 30.28."""
OLDEST = "pydantic==2.11.0 thrift==0.20.0 tenacity==8.2.3 cachetools==5.5.0 typer==0.12.5 rich==13.0.0 click==8.1.8"
"""The oldest dependencies that setup.cfg accepts, beside sqlglot."""

SUITE_SPARK = "4.1"
"""The newest Spark with a runtime of Iceberg, which `make test` runs on."""
NEWEST_SPARK = f"pyspark[connect]=={SUITE_SPARK}.*"
SPARK_TESTS = ("tests/integration/spark",)
SPARK_SAMPLE = ("-m", "each_spark")
"""The tests that `.ci/run` runs on each version of Spark beside that of `make test`."""
SHORT_UNIT_TESTS = ("tests/unit", "-m", "not extended", "--numprocesses", "2")

_RELEASES = ("3.1.3", "4.0.1", "4.1.0", "4.2.0", "4.2.1")
SERVERS = ("2.3.10", *(f"{release}{database}" for release in _RELEASES for database in ("", "/postgresql", "/mysql")))
"""The metastores, as release/database; on Derby if no database is named."""
SERVER_TESTS = ("@tests/versions/metastore_tests.txt",)

EXTENDED_PARTS: Mapping[str, tuple[str, ...]] = {
    "metastore": ("tests/integration/metastore",),
    "schema-upgrade": ("tests/integration/schema_upgrade",),
    "faults": ("tests/faults", "tests/soak"),
    "estate": ("tests/estate",),
    "data": (
        "tests/integration/hdfs",
        "tests/integration/legacy_import",
        "tests/integration/materialized",
        "tests/integration/transactional",
    ),
    "others": (
        "tests/integration/catalog",
        "tests/integration/cli",
        "tests/integration/dependencies",
        "tests/integration/docs",
        "tests/integration/newest",
        "tests/integration/view_copy",
        "tests/older_version",
        "tests/unit",
    ),
}
"""The extended tests (`make test-all`) in parts that end within half an hour; those of `tests/integration/spark`,
`hive`, `trino` and `docker`, and `tests/versions`, are in combinations of their own."""


class Table(Enum):
    """A table of docs/compatibility.md."""

    SPARK = "spark"
    PYTHON = "python"
    SQLGLOT = "sqlglot"
    METASTORES = "metastores"
    SUITES = "suites"


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A virtual environment below build/versions."""

    name: str
    packages: tuple[str, ...] = ()
    """Requirements beside those of the package's extra `test`."""
    python: str = ""
    """The minor version of Python; empty for the one that runs this program."""


MAIN = Environment(name="main")
"""That of `make env`, which runs this program."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Versions that are installed together, and the tests that run on them."""

    name: str
    table: Table
    environment: Environment = MAIN
    """Where the tests run."""
    overlay: str = ""
    """A package that takes precedence over that of the environment, without its dependencies."""
    shown: tuple[str, ...] = ()
    """The packages whose installed versions the table names."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the tests."""
    tests: tuple[str, ...] = ()
    """Arguments of pytest."""
    target: str = ""
    """A target of the Makefile that runs the tests, in place of `tests`; it passes PYTEST_ARGS on."""
    sample: tuple[str, ...] | None = None
    """Further arguments of pytest with which `.ci/run` runs the tests at each landing; None if it does not."""


def _spark(line: str) -> list[Combination]:
    """Return the combinations of a minor version of Spark with each release of Iceberg's runtime, and without one."""
    # PySpark 3.5 needs NumPy 1.
    numpy_1 = ("pyarrow<20", "pandas<2.3") if line == "3.5" else ()
    environment = Environment(name=f"spark-{line}", packages=(f"pyspark[connect]=={line}.*", *numpy_1))
    releases = SPARK_LINES[line].iceberg
    with_iceberg = [
        Combination(
            name=f"spark-{line}-iceberg-{release.rpartition('.')[0]}",
            table=Table.SPARK,
            environment=environment,
            shown=("pyspark",),
            variables={ICEBERG_VARIABLE: release},
            tests=SPARK_TESTS,
            sample=SPARK_SAMPLE if release == releases[0] and line != SUITE_SPARK else None,
        )
        for release in releases
    ]
    plain = Combination(
        name=f"spark-{line}-plain",
        table=Table.SPARK,
        environment=environment,
        shown=("pyspark", "pyarrow", "pandas"),
        variables={"HIVE_VIEWS_TEST_PLAIN": "1"},
        tests=SPARK_TESTS,
        sample=None if releases else SPARK_SAMPLE,
    )
    return [*with_iceberg, plain]


def _python(version: str) -> Combination:
    return Combination(
        name=f"python-{version}",
        table=Table.PYTHON,
        environment=Environment(name=f"python-{version}", python=version, packages=(NEWEST_SPARK,)),
        shown=("pyspark", "pyarrow", "pandas"),
        tests=SHORT_UNIT_TESTS,
        sample=() if version in (PYTHONS[0], PYTHONS[-1]) else None,
    )


def _sqlglot(minor: str) -> Combination:
    # Without the compiled extension, which `make test` has.
    return Combination(
        name=f"sqlglot-{minor}",
        table=Table.SQLGLOT,
        overlay=f"sqlglot=={minor}.0",
        shown=("sqlglot",),
        tests=("tests/unit/sql", "-m", "not extended"),
    )


COMBINATIONS: tuple[Combination, ...] = (
    *(combination for line in reversed(list(SPARK_LINES)) for combination in _spark(line)),
    *(_python(version) for version in PYTHONS),
    Combination(
        name="oldest-dependencies",
        table=Table.PYTHON,
        environment=Environment(name="oldest", packages=(*OLDEST.split(), f"sqlglot=={SQLGLOTS[0]}.0", NEWEST_SPARK)),
        shown=("sqlglot", "pydantic", "thrift", "typer"),
        tests=SHORT_UNIT_TESTS,
    ),
    *(_sqlglot(minor) for minor in SQLGLOTS),
    *(
        Combination(
            name=f"metastore-{server.replace('/', '-')}",
            table=Table.METASTORES,
            variables={"HIVE_VIEWS_TEST_SERVER": server},
            tests=SERVER_TESTS,
        )
        for server in SERVERS
    ),
    Combination(
        name="metastore-start",
        table=Table.METASTORES,
        variables={"HIVE_VIEWS_EVERY_RELEASE": "1"},
        tests=("tests/integration/metastore/test_standalone.py",),
    ),
    *(
        Combination(name=name, table=Table.SUITES, target=f"test-{name}")
        for name in ("hive", "trino", "docker", "programs", "tools", "upgrade")
    ),
    *(
        Combination(
            name=f"extended-{part}",
            table=Table.SUITES,
            tests=(*paths, "-m", "extended", "--numprocesses", "2"),
        )
        for part, paths in EXTENDED_PARTS.items()
    ),
)


def in_turn(combinations: tuple[Combination, ...], number: int) -> Combination:
    """Return the combination whose turn it is at a landing; the number of commits decides."""
    return combinations[number % len(combinations)]


def variables_of(combination: Combination) -> dict[str, str]:
    """Return the environment of the tests: this process's, without what another combination set, and its own."""
    inherited = {key: value for key, value in os.environ.items() if key not in (ICEBERG_VARIABLE, "VIRTUAL_ENV")}
    return {**inherited, **combination.variables}
