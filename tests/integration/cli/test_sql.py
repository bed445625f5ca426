"""`sql` on a real metastore; `sql expand` with the requests of the golden files, and with invalid lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hive_views.cli.commands.sql import expand_lines
from hive_views.errors import UsageError
from tests.integration.cli.conftest import Cli, invoke
from tests.unit.sql.hive_fixtures import FUNCTIONS, collapse_whitespace, load_cases

REQUEST = {"ddl": "create view v as select * from t", "database": "d", "tables": {"d.t": [["a", "int"], ["b", "date"]]}}
NOTHING = {"original": None, "expanded": None, "columns": None, "partition_keys": None}


def test_sql_runs_statement_in_given_database(cli: Cli, database: str) -> None:
    here = ("--database", database)
    done = cli("sql", "CREATE VIEW one (n COMMENT 'c') AS SELECT 1", *here)
    assert (done.code, done.out) == (0, f"{database}.one: created, version 1 is current\n")
    assert cli("sql", *here, "CREATE VIEW two AS SELECT n FROM one").code == 0
    assert (
        cli("sql", "run", f"SHOW VIEWS IN {database} LIKE 't*'").out
        == f"{'database':{len(database)}}  view\n{database}  two\n"
    )
    shown = cli("sql", "SHOW CREATE VIEW two", *here).out
    assert shown.startswith(f'-- names without a database mean "{database}"\nCREATE VIEW `{database}`.`two`\n')
    assert cli("sql", "DROP VIEW one CASCADE", *here).out == f"{database}.one: dropped (before it: {database}.two)\n"
    again = cli("sql", "-", *here, stdin="CREATE VIEW one AS SELECT 1 AS n;\n")
    assert again.out == f"{database}.one: created, version 1 is current\n"
    assert cli("sql", "DROP VIEW IF EXISTS two", *here).out == f"{database}.two: absent\n"


def test_as_json(cli: Cli, database: str) -> None:
    assert cli("--json", "sql", "CREATE VIEW v AS SELECT 1 AS n", "--database", database).json == {
        "kind": "created",
        "name": f"{database}.v",
        "version_id": 1,
        "columns": [],
        "rows": [],
    }
    described = cli("sql", "DESCRIBE v", "--database", database, "--json").json
    assert (described["columns"], described["rows"]) == (["name", "type", "comment"], [["n", "int", None]])


def test_syntax_error_has_line_and_column(cli: Cli, database: str) -> None:
    failed = cli("--json", "sql", "CREATE VIEW v AS\nSELECT a FROM nothing", "--database", database)
    assert failed.code == 2
    assert (failed.error["operands"]["line"], failed.error["operands"]["column"]) == (2, 15)
    assert cli("sql", "DESCRIBE nothing", "--database", database).code == 3
    assert cli("sql", "SHOW VIEWS", "--dialect", "oracle").code == 2
    assert cli("sql").code in (0, 2)


def expand(*lines: str | bytes, **options: str) -> list[dict]:
    return list(expand_lines(lines, **options))


def test_golden_pairs_equal_hive_answers() -> None:
    cases = [*load_cases("hive_view_expansion.jsonl"), *load_cases("hive_oracle.jsonl")]
    answers = expand(*(json.dumps({**case, "functions": FUNCTIONS}) for case in cases))
    assert len(answers) == len(cases) > 100
    for case, answer in zip(cases, answers, strict=True):
        assert (answer["error"] is not None) == bool(case.get("refused")), (case, answer)
        if answer["error"] is None:
            assert collapse_whitespace(answer["expanded"]) == collapse_whitespace(case["expanded"])


def test_modes_and_dialects() -> None:
    (exact,) = expand(json.dumps(REQUEST))
    assert exact == {
        "original": "select * from t",
        "expanded": "select `t`.`a`, `t`.`b` from `d`.`t`",
        "columns": [["a", "int", None], ["b", "date", None]],
        "partition_keys": [],
        "error": None,
    }
    unnamed = {**REQUEST, "ddl": 'create view v as select "a" + 1 from t'}
    (portable,) = expand(json.dumps(unnamed), mode="portable", dialect="trino")
    assert portable["expanded"] == 'select "t"."a" + 1 AS "_c0" from "d"."t"'
    assert expand(json.dumps({**unnamed, "dialect": "trino"}), mode="portable") == [portable]
    for wrong in ({"mode": "other"}, {"dialect": "oracle"}):
        with pytest.raises(UsageError):
            expand(json.dumps(REQUEST), **wrong)


BROKEN = [
    "nope",
    "[1]",
    "null",
    "{}",
    "[" * 100_000,
    b"\xff\xfe{",
    '{"ddl": 1}',
    *[
        json.dumps({**REQUEST, **wrong})
        for wrong in (
            {"tables": []},
            {"tables": {"d.t": 1}},
            {"tables": {"d.t": [1]}},
            {"tables": {"d.t": [["a"]]}},
            {"tables": {"d.t": {"columns": "a"}}},
            {"tables": {"d.t": {"columns": [], "bucket_columns": 1}}},
            {"conf": {"a": "b"}},
            {"conf": [["a"]]},
            {"setup": "create table t"},
            {"setup": [1]},
            {"database": 1},
            {"base_views": 1},
            {"functions": {"f": 1}},
            {"dialect": "oracle"},
        )
    ],
]


@pytest.mark.parametrize("line", BROKEN, ids=[str(line)[:60] for line in BROKEN])
def test_invalid_input_line_does_not_stop_later_lines(line: str | bytes) -> None:
    good = json.dumps(REQUEST)
    first, broken, last = expand(good, line, "\n", good)
    assert broken["error"].startswith("Not a request: ")
    assert {**broken, "error": None} == {**NOTHING, "error": None}
    assert first == last
    assert first["error"] is None


def test_expand_needs_no_metastore_and_no_heavy_library() -> None:
    program = (
        "import sys\nfrom hive_views.cli.app import app\n"
        "try:\n    app(['sql', 'expand', '--mode', 'portable'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'pyiceberg.catalog', 'pyspark', 'pyarrow', 'thrift'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(REQUEST) + "\n\nnope\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["error"] is None for answer in answers] == [True, False]


def test_json_path_of_a_text_is_no_warning() -> None:
    request = {**REQUEST, "ddl": "create view v as select get_json_object('{}', '12') from t"}
    done = subprocess.run(
        [sys.executable, "-m", "hive_views", "sql", "expand", "--mode", "portable"],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert json.loads(done.stdout)["error"] is None
    assert done.stderr == ""


def test_expand_in_this_process() -> None:
    done = invoke("sql", "expand", stdin=json.dumps(REQUEST) + "\n")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["error"] is None
    assert invoke("sql", "expand", "--mode", "other", stdin="").code == 2
