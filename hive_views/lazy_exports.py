"""Public names of a package that are imported on first use.

Importing PyIceberg's catalogs takes 0.3 s and sqlglot 0.1 s; a command that needs neither must not import them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec


def lazy_exports(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its public names on first use.

    The public names are those that the package's source imports with `as`.
    """
    spec = find_spec(package)
    source = spec.loader.get_source(package) if spec is not None else ""  # type: ignore[union-attr]  # as `inspect` does
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    modules = {alias.asname: node.module or "" for node in nodes for alias in node.names if alias.asname}
    names = sorted(modules)

    def get_attribute(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get_attribute, lambda: names, names
