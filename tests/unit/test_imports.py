"""What modules import: no cycles at any depth, and the catalog only what each program needs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "hive_views"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph() -> dict[str, set[str]]:
    """The modules that each module imports, including imports in functions and under TYPE_CHECKING.

    Packages are left out: their `__init__.py` only exports the names of their modules.
    """
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py") if "_thrift" not in path.parts}
    modules = {name for name, path in paths.items() if path.name != "__init__.py"}
    graph: dict[str, set[str]] = defaultdict(set)
    for name in modules:
        for node in ast.walk(ast.parse(paths[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & modules
            elif isinstance(node, ast.ImportFrom) and node.module:
                targets = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                graph[name] |= targets & modules
    return graph


def test_modules_do_not_import_each_other_in_cycles() -> None:
    try:
        order = list(TopologicalSorter(import_graph()).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None
    assert "hive_views.catalog.catalog" in order


def test_importing_the_catalog_imports_only_what_each_program_needs() -> None:
    program = "import json, sys\nfrom hive_views import HiveViewCatalog\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = json.loads(done.stdout)
    assert not {"pyspark", "pyarrow", "pandas", "numpy", "sqlglot", "typer", "gssapi", "sqlalchemy"} & set(names)
    packages = {name.split(".")[1] for name in names if name.startswith("hive_views.")}
    lower_layers = {"errors", "lazy_exports", "property_table", "text_enum", "config", "identifiers", "kerberos_names"}
    assert packages == {*lower_layers, "spec", "io", "metastore", "dependencies", "catalog", "sql"}, (
        "the others are imported on first use"
    )
    of_sql = {name for name in names if name.startswith("hive_views.sql.")}
    assert of_sql == {"hive_views.sql.types", "hive_views.sql.types.names"}, "a row needs the names of types only"
