"""The objects of the estate: files of SQL statements in `definitions/`, one for each program.

A line `--- name | kind | comment` begins an object; a statement ends with a semicolon at the end of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

DIRECTORY = Path(__file__).parent / "definitions"

_HEADER = re.compile(r"^--- (?P<name>[^|]+?) \| (?P<kind>[^|]+?) \| (?P<comment>.+)$")
_PLACEHOLDER = re.compile(r"\{([a-z_0-9]+)\}")

LONGEST = 128
"""The greatest length of a table's name before Hive 4, in characters (Hive's schema: `TBL_NAME`)."""
LONGEST_VIEW = 256
"""The same since Hive 4; a table's directory cannot have such a name."""
LONGEST_COLUMN = 767
"""The greatest length of a column's name, in characters (Hive's schema: `COLUMN_NAME`)."""


@dataclass(frozen=True)
class Definition:
    """An object, or a group of objects, that one program creates."""

    program: str
    """The name of its file: the program."""
    name: str
    """`database.name` in the metastore; for objects other than tables and views, their name."""
    kind: str
    """What it is, such as `table acid` or `view lateral`."""
    comment: str
    """What is special about it."""
    statements: tuple[str, ...]
    """The statements that create it, in order."""

    @property
    def is_readable(self) -> bool:
        """Whether it is a table or a view, whose rows its author reads."""
        return self.kind.split()[0] in ("table", "view", "materialized")


def placeholders(warehouse: str, files: str) -> Mapping[str, str]:
    """The texts of the placeholders in statements: URIs, and texts that are too long to write down."""
    return {
        "warehouse": warehouse,
        "files": files,
        "longest": "n" * LONGEST,
        "longest_view": "v" * LONGEST_VIEW,
        "longest_767": "n" * LONGEST_COLUMN,
        "wide_struct": ",".join(f"field_number_{number}:array<struct<a:int,b:string>>" for number in range(120)),
        "many_columns": ", ".join(f"c{number} int" for number in range(500)),
        **{
            f"many_partitions_{part}": " ".join(
                f"partition (p={number}, q='{number % 7}')" for number in range(part * 50, part * 50 + 50)
            )
            for part in range(6)
        },
        "long_list": ", ".join(f"'{number:06}'" for number in range(2500)),
    }


def load(program: str, texts: Mapping[str, str]) -> Iterator[Definition]:
    """Read the objects of a program, with its placeholders replaced."""
    lines = (DIRECTORY / f"{program}.sql").read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("--- ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        header = _HEADER.match(lines[start])
        if header is None:
            raise ValueError(f"{program}.sql, line {start + 1}: not `--- name | kind | comment`: {lines[start]}")
        body = "\n".join(lines[start + 1 : end]).strip() + "\n"
        statements = tuple(_replace(text, texts) for text in re.split(r";\n", body) if text.strip())
        yield Definition(program, header["name"], header["kind"], header["comment"], statements)


def _replace(text: str, texts: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: texts.get(match[1], match[0]), text.strip())
