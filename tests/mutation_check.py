"""Whether tests notice changes of the code: random mutants of some packages, each against the tests that concern it.

    python -m tests.mutation_check --seed 1 --count 50 --output build/mutants.jsonl

A mutant changes one operator, constant or condition. It is made in a copy of the checkout, and survives if all tests
pass. An interrupted run continues with the mutants that the output does not have. Not part of `make test`.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 900

AREAS = {
    "metastore/commit": ("tests/unit/metastore",),
    "sql": ("tests/unit/sql/{package}", "tests/unit/sql/test_golden.py", "tests/unit/sql/test_portable.py"),
    "materialized/freshness": ("tests/unit/materialized",),
    "legacy_import": ("tests/unit/legacy_import",),
}
"""The unit tests of each package, in the order in which they run; `{package}` is the subpackage of the module."""

ON_A_METASTORE = {
    "metastore/commit": ("tests/integration/metastore/test_commit.py", "tests/integration/metastore/test_locks.py"),
    "materialized/freshness": ("tests/integration/materialized/test_nested.py",),
    "legacy_import": (
        "tests/integration/legacy_import/test_readers.py",
        "tests/integration/legacy_import/test_readable.py",
        "tests/integration/legacy_import/test_plan_files.py",
        "tests/integration/legacy_import/test_import.py",
    ),
}
"""Further tests of a package, for `--metastore`."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Mutant:
    """A change of one node of a module."""

    module: str
    """The path of the module in the checkout."""
    index: int
    """The number of the node among those of the module that can be changed."""
    line: int
    description: str


def nodes_to_change(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that have a mutant, with what the mutant does, in the order of the text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node, f"{type(node.ops[0]).__name__} -> {COMPARISONS[type(node.ops[0])].__name__}"
        elif isinstance(node, ast.BoolOp):
            yield node, "or -> and" if isinstance(node.op, ast.Or) else "and -> or"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "not x -> x"
        elif isinstance(node, ast.IfExp):
            yield node, "a if c else b -> b if c else a"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, f"{node.value} -> {not node.value}"
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, f"{node.value} -> {node.value + 1}"


def change(node: ast.AST) -> None:
    """Make the mutant of a node."""
    if isinstance(node, ast.Compare):
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif isinstance(node, ast.BoolOp):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif isinstance(node, ast.UnaryOp):
        node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value += 1


def mutants_of(package: str, seed: int, count: int) -> list[Mutant]:
    """Random mutants of a package; a larger count begins with those of a smaller one."""
    found = []
    for path in sorted((ROOT / "hive_views" / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for index, (node, description) in enumerate(nodes_to_change(tree)):
            found.append(Mutant(str(path.relative_to(ROOT)), index, getattr(node, "lineno", 0), description))
    random.Random(f"{seed} {package}").shuffle(found)
    return found[:count]


def tests_of(mutant: Mutant, *, on_metastore: bool) -> list[str]:
    """The tests that concern a module."""
    area = next(area for area in AREAS if mutant.module.startswith(f"hive_views/{area}/"))
    package = mutant.module.removeprefix("hive_views/sql/").partition("/")[0]
    names = (*AREAS[area], *(ON_A_METASTORE.get(area, ()) if on_metastore else ()))
    return [path for name in names if (ROOT / (path := name.format(package=package))).exists()]


def copied_checkout(directory: Path) -> Path:
    """A copy of the files of the checkout that Git knows; data of tests are found in the cache of the checkout."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    if (ROOT / ".cache").exists() and not (directory / ".cache").exists():
        (directory / ".cache").symlink_to(ROOT / ".cache")
    return directory


def survives(directory: Path, mutant: Mutant, *, on_metastore: bool) -> bool:
    """Whether all tests pass with a mutant."""
    path = directory / mutant.module
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    node, _ = list(nodes_to_change(tree))[mutant.index]
    change(node)
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not extended"]
    try:
        return all(
            subprocess.run(
                [*command, tests], cwd=directory, capture_output=True, timeout=TIMEOUT_S, check=False
            ).returncode
            == 0
            for tests in tests_of(mutant, on_metastore=on_metastore)
        )
    except subprocess.TimeoutExpired:
        return False  # a loop without end is noticed
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the mutants, and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50, help="all mutants, the same number for each package")
    parser.add_argument("--metastore", action="store_true", help="run tests on a metastore, too")
    parser.add_argument("--survivors-of", type=Path, help="only the survivors of an earlier output")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "mutants.jsonl")
    options = parser.parse_args()
    number = -(-options.count // len(AREAS))
    drawn = [mutants_of(package, options.seed, number) for package in AREAS]
    # One of each package in turn, so that an interrupted run has some of all.
    mutants = [mutant for group in zip(*drawn, strict=True) for mutant in group][: options.count]
    if options.survivors_of is not None:
        earlier = map(json.loads, options.survivors_of.read_text(encoding="utf-8").splitlines())
        alive = {(line["module"], line["index"]) for line in earlier if line["survived"]}
        mutants = [mutant for mutant in mutants if (mutant.module, mutant.index) in alive]
    lines = options.output.read_text(encoding="utf-8").splitlines() if options.output.exists() else []
    done = {(line["module"], line["index"]) for line in map(json.loads, lines)}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    directory = copied_checkout(ROOT / "build" / "mutants")
    for position, mutant in enumerate(mutants, 1):
        if (mutant.module, mutant.index) in done:
            continue
        started = time.monotonic()
        is_alive = survives(directory, mutant, on_metastore=options.metastore)
        seconds = round(time.monotonic() - started)
        with options.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**vars(mutant), "survived": is_alive, "seconds": seconds}) + "\n")
        word = "SURVIVED" if is_alive else "killed"
        print(f"{position}/{len(mutants)} {word} {mutant.module}:{mutant.line} {mutant.description} ({seconds} s)")


if __name__ == "__main__":
    main()
