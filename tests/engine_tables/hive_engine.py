"""Hive's own functions as the source of types: their classes are initialized as Hive's analyzer does it."""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.engine_tables.arguments import DECIMALS, Written
from tests.engine_tables.sampling import Signature
from tests.integration.hive.reader import OPENED, VERSION, install

SIMPLE = (
    *("void", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "varchar(10)"),
    *("varchar(20)", "char(5)", "char(12)", "binary", "date", "timestamp", "timestamp with local time zone"),
    *("interval_year_month", "interval_day_time"),
)
LEARNED_TYPES = (
    *SIMPLE,
    *DECIMALS,
    *(f"array<{kind}>" for kind in SIMPLE if kind != "void"),
    *(f"array<{kind}>" for kind in DECIMALS[:3]),
    *("array<array<int>>", "array<array<string>>", "array<map<string,int>>", "array<struct<a:int,b:string>>"),
    *("map<string,int>", "map<int,array<string>>", "map<string,string>", "map<bigint,decimal(10,2)>"),
    *("struct<a:int,b:string>", "struct<x:double>"),
)
COMMON = {"wide": "coalesce", "strict": "greatest", "tight": "array"}
"""The functions whose result is the common type of two types."""
NOT_LEARNED = frozenset(
    """
    struct named_struct case create_union reflect reflect2 java_method in_file version buildversion $sum0
    unix_timestamp to_unix_timestamp rank dense_rank percent_rank cume_dist row_number ntile lag lead first_value
    last_value trunc
    """.split()
)


class HiveEngine:
    """A running JVM with Hive's functions."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def functions(self) -> list[str]:
        """Return the names of the built-in functions."""
        return [name for name in self._ask(["NAMES"])[0].split("\t") if not name.startswith(("st_", "iceberg_"))]

    def calls(self, calls: Sequence[tuple[str, Signature]]) -> list[str]:
        """Return the type of each call, or `!` and Hive's error."""
        lines = ["\t".join([name, *(_text(item) for item in call)]) for name, call in calls]
        answers: list[str] = []
        for start in range(0, len(lines), 200):
            answers += self._ask(lines[start : start + 200])
        return answers

    def seeds(self, name: str) -> Iterator[list[Written | None]]:
        """Yield nothing: the examples of Hive's functions are not read."""
        yield from ()

    def _ask(self, lines: Sequence[str]) -> list[str]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()
        answers = [self._process.stdout.readline().rstrip("\n") for _ in lines]
        if "" in answers:
            raise RuntimeError(f"Hive gave no answer to {lines[answers.index('')]}")
        return answers


def _text(item: Written) -> str:
    literal = item.argument.literal
    return item.argument.type if literal is None else f"{item.argument.type}={literal}"


@contextmanager
def running() -> Iterator[HiveEngine]:
    """Compile and start it; end it afterwards."""
    jars = install() / "lib"
    source = Path(__file__).parent / "java" / "HiveTypes.java"
    with TemporaryDirectory() as directory:
        compile_ = ("javac", "-nowarn", "-proc:none", "-d", directory, "-cp", f"{jars}/*", str(source))
        subprocess.run(compile_, check=True, capture_output=True)
        command = (
            *("java", "-Xmx700m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
            *("-cp", f"{directory}:{jars}/*", "HiveTypes"),
        )
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            yield HiveEngine(process)
        finally:
            process.kill()
            process.communicate()


__all__ = ["COMMON", "LEARNED_TYPES", "NOT_LEARNED", "VERSION", "HiveEngine", "running"]
