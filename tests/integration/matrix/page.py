"""Updates the tables of docs/servers.md, which contain one row per server below the heading of the table."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "servers.md"


def update_table(heading: str, rows: list[str], page: Path = PAGE) -> None:
    """Replace the rows of a server in the table below a heading, or append them."""
    lines = page.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.lstrip("# ") == heading)
    table = next(number for number in range(start, len(lines)) if lines[number].startswith("|---"))
    end = next((number for number in range(table, len(lines)) if not lines[number].startswith("|")), len(lines))
    server = _first_cell(rows[0])
    row_numbers = [number for number in range(table + 1, end) if _first_cell(lines[number]) == server]
    other_rows = [line for number, line in enumerate(lines[table + 1 : end], table + 1) if number not in row_numbers]
    index = row_numbers[0] - (table + 1) if row_numbers else len(other_rows)
    lines[table + 1 : end] = [*other_rows[:index], *rows, *other_rows[index:]]
    page.write_text("\n".join(lines) + "\n")


def _first_cell(row: str) -> str:
    return row.strip("| ").partition("|")[0].strip(" `")
