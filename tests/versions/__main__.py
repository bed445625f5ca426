"""Runs the matrix: `python -m tests.versions [run|sample|turn|page] [NAME …]`.

run     the whole tests of each combination, or of those that are named (`spark-*`); a combination whose last result
        is of the current commit and complete is not repeated
sample  what `.ci/run` runs of it at each landing: a sample on each Spark but that of `make test`, and the short unit
        tests on the oldest and the newest Python; what fails is run once more, and has to pass; nothing is recorded
turn    one combination of Spark, Python or sqlglot whose last result took at most 12 minutes; what fails is run once
        more; nothing is recorded
page    writes the tables of docs/compatibility.md from the recorded results
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from fnmatch import fnmatchcase

from tests.versions.combinations import COMBINATIONS, Combination, Table, in_turn, variables_of
from tests.versions.environments import (
    DIRECTORY,
    REPOSITORY,
    MissingPythonError,
    install_overlay,
    installed_versions,
    prepare,
    remove,
)
from tests.versions.page import PAGE, with_tables
from tests.versions.results import Result, is_short, read_counts, read_results, write_results


def main() -> int:
    """Run the command; return the exit code: 1 if a combination has a failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("command", nargs="?", default="run", choices=("run", "sample", "turn", "page"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="combinations; all if none is named")
    parser.add_argument(
        "--remove-environments", action="store_true", help="remove each environment (1.6 GB) as soon as its tests ended"
    )
    arguments = parser.parse_args()
    names = arguments.names or ["*"]
    chosen = tuple(c for c in COMBINATIONS if any(fnmatchcase(c.name, name) for name in names))
    unknown = [name for name in names if not any(fnmatchcase(c.name, name) for c in COMBINATIONS)]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(c.name for c in COMBINATIONS)}")
    if arguments.command == "page":
        PAGE.write_text(with_tables(PAGE.read_text(), read_results()))
        return 0
    keep = not arguments.remove_environments
    if arguments.command == "sample":
        return _run_twice(tuple(c for c in chosen if c.sample is not None), is_sample=True, keep=keep)
    if arguments.command == "turn":
        results = read_results()
        tables = (Table.SPARK, Table.PYTHON, Table.SQLGLOT)
        short = tuple(c for c in chosen if c.table in tables and is_short(results.get(c.name)))
        return _run_twice((in_turn(short, _commit_count()),), is_sample=False, keep=keep)
    return _run_and_record(chosen, keep=keep)


def _run_and_record(combinations: Sequence[Combination], *, keep: bool) -> int:
    commit = _commit()
    results: list[Result] = []
    for combination in combinations:
        recorded = read_results()
        last = recorded.get(combination.name)
        if last is not None and last.commit == commit and last.is_complete:
            _say(f"{combination.name}: has a result of this commit")
            results.append(last)
            continue
        for result in _run_each((combination,), is_sample=False, keep=keep):
            write_results((recorded | {result.name: result}).values())
            PAGE.write_text(with_tables(PAGE.read_text(), read_results()))
            results.append(result)
    return _report(results)


def _run_twice(combinations: Sequence[Combination], *, is_sample: bool, keep: bool) -> int:
    """Run combinations, and those with a failure once more; return the exit code."""
    first = _run_each(combinations, is_sample=is_sample, keep=keep)
    failed = {result.name for result in first if not result.is_complete}
    if _report(first) == 0:
        return 0
    _say(f"running once more: {', '.join(sorted(failed))}")
    again = tuple(c for c in combinations if c.name in failed)
    return _report(_run_each(again, is_sample=is_sample, keep=keep))


def _run_each(combinations: Sequence[Combination], *, is_sample: bool, keep: bool) -> list[Result]:
    """Run combinations one after the other; one whose Python this machine lacks is left out, with a message."""
    results = []
    for combination in combinations:
        try:
            results.append(_run(combination, (combination.sample or ()) if is_sample else ()))
        except MissingPythonError as error:
            _say(f"{combination.name}: not run: {error}")
        finally:
            if not keep:
                remove(combination.environment)
    return results


def _run(combination: Combination, selection: Sequence[str]) -> Result:
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    report = DIRECTORY / f"{combination.name}.xml"
    report.unlink(missing_ok=True)
    python = prepare(combination.environment)
    variables = variables_of(combination)
    if combination.overlay:
        packages = install_overlay(python, combination.name, combination.overlay)
        variables["PYTHONPATH"] = os.pathsep.join((str(packages), str(REPOSITORY)))
    number, versions = installed_versions(python, combination.shown, variables)
    options = (*selection, "-p", "no:cacheprovider", f"--junitxml={report}")
    if combination.target:
        command = ["make", combination.target, f"PYTEST_ARGS={' '.join(options)}"]
    else:
        command = [str(python), "-m", "pytest", "--quiet", *combination.tests, *options]
    _say(f"{combination.name}: Python {number} {versions}")
    started = time.monotonic()
    subprocess.run(command, cwd=REPOSITORY, env=variables, check=False)
    counts = read_counts(report)
    return Result(
        name=combination.name,
        python=number,
        versions=versions,
        commit=_commit(),
        date=date.today().isoformat(),
        passed=counts.passed,
        failed=counts.failed,
        skipped=counts.skipped,
        seconds=round(time.monotonic() - started),
    )


def _report(results: Sequence[Result]) -> int:
    for result in results:
        _say(
            f"{result.name}: {result.passed} passed, {result.failed} failed, {result.skipped} skipped, "
            f"{result.seconds} s"
        )
    return 0 if all(result.is_complete for result in results) else 1


def _say(text: str) -> None:
    print(f"== {text}", flush=True)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()


def _commit() -> str:
    """Return the last commit that changed anything but the results and the page."""
    return _git("log", "-1", "--format=%H", "--", "hive_views", "tests/*.py", "setup.cfg")


def _commit_count() -> int:
    return int(_git("rev-list", "--count", "HEAD"))


if __name__ == "__main__":
    sys.exit(main())
