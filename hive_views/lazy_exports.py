"""Public names of a package that are imported on first use.

Importing PyIceberg's catalogs takes 0.3 s and sqlglot 0.1 s; a command that needs neither does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_exports(
    package: str, names_by_module: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__` for names that its modules define.

    The same names under `if TYPE_CHECKING` tell type checkers about them.
    """
    modules = {name: f"{package}.{module}" for module, names in names_by_module.items() for name in names}
    names = sorted(modules)

    def get_attribute(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get_attribute, lambda: names, names
