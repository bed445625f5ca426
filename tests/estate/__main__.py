"""Build the estate, show what changed against the record, and record it: `python -m tests.estate build`.

`build PROGRAM…` runs only some programs, and records nothing. `extend` runs the definitions that the record lacks on
the recorded copy, and records that. `report` writes docs/estate.md.
"""

from __future__ import annotations

import sys
from time import perf_counter

from tests.estate import build, report
from tests.estate.copy import HERE


def main(words: list[str]) -> int:
    """Run the command."""
    if words == ["report"]:
        report.PAGE.write_text("\n".join(report.lines()), encoding="utf-8")
        return 0
    if words[:1] not in (["build"], ["extend"]):
        print(__doc__)
        return 2
    directory = HERE.parents[1] / "build" / "estate"
    started = perf_counter()
    is_whole = words == ["build"]
    outcomes, all_rows = build.extend(directory) if words == ["extend"] else build.build(directory, words[1:])
    lines = build.changes(outcomes, all_rows)
    print(*(line[:1000] for line in lines), sep="\n")
    print(f"{len(outcomes)} definitions, {len(all_rows)} rows, {len(lines)} changes")
    if not words[1:]:
        build.record(directory, outcomes, all_rows, seconds=perf_counter() - started if is_whole else None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
