"""docs/servers.md: its tables are written by the runs, one row a server, below a heading of each table's own."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "servers.md"


def put(heading: str, rows: list[str], page: Path = PAGE) -> None:
    """Replace rows of the one table below a heading, or add them at its end."""
    lines = page.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.lstrip("# ") == heading)
    table = next(number for number in range(start, len(lines)) if lines[number].startswith("|---"))
    end = next((number for number in range(table, len(lines)) if not lines[number].startswith("|")), len(lines))
    server = _first(rows[0])
    mine = [number for number in range(table + 1, end) if _first(lines[number]) == server]
    kept = [line for number, line in enumerate(lines[table + 1 : end], table + 1) if number not in mine]
    at = mine[0] - (table + 1) if mine else len(kept)
    lines[table + 1 : end] = [*kept[:at], *rows, *kept[at:]]
    page.write_text("\n".join(lines) + "\n")


def _first(row: str) -> str:
    return row.strip("| ").partition("|")[0].strip(" `")
