"""The table of internal classes and methods of Spark and Iceberg, compared with the code that uses them by name."""

from __future__ import annotations

import ast
import builtins
import contextlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hive_views.spark.java_features as table
from hive_views.spark.java_features import METHODS, SESSION_PACKAGE, Feature, class_in, methods_of
from hive_views.spark.jvm import CONSTRUCTOR

PACKAGE = Path(table.__file__).parent
TEXTS = {
    path.relative_to(PACKAGE).as_posix(): path.read_text()
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.name != "java_features.py"
}
SOURCES = {path: ast.parse(text) for path, text in TEXTS.items()}
READERS = (
    "jvm.py",
    "sessions.py",
    "refresh/file_comparison.py",
    "session/plan_blocks.py",
    "session/plans.py",
    "session/proven_plans.py",
    "session/stale_rows.py",
    "session/substitution.py",
)
"""The modules that call methods of the JVM's objects; `refresh/engine.py` has one function that does."""

OF_JAVA = frozenset(
    {"getMessage", "getClass", "getName", "getCause", "getDeclaredMethods", "getMethods", "getConstructors"}
    | {
        "ArrayList",
        "isEmpty",
        "containsKey",
        "putIfAbsent",
        "equals",
        "toString",
        "isDefined",
        "apply",
        "size",
        "mkString",
    }
)
"""Methods of Java's and Scala's own classes."""
OF_PYTHON = frozenset(
    {"compile", "deepcopy", "getLogger", "reset", "uuid4"}
    | {"cloneSession", "contextType", "fragment", "getCondition", "map", "objectName", "startIndex"}
)
"""Functions of Python's modules, and methods of PySpark's classes that not every version has."""
CLASS_FUNCTIONS = {"java_class": 1, "static_method": 1, "is_instance_of": 2, "_class": 0, "_object": 0, "_mirror": 1}
"""The functions that take the name of a class, with the position of that argument."""


def vars_of(tree: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


OF_TABLE = vars_of(ast.parse(Path(table.__file__).read_text()))


def texts(node: ast.expr, named: dict[str, ast.expr]) -> list[str]:
    """The values that an expression of text can have."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Name) and node.id in named:
        return texts(named[node.id], named)
    if isinstance(node, ast.Tuple):
        return [value for item in node.elts for value in texts(item, named)]
    if isinstance(node, ast.JoinedStr):
        parts = [item.value if isinstance(item, ast.FormattedValue) else item for item in node.values]
        return ["".join(texts(part, named)[0] for part in parts)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "class_in":
        return texts(node.args[0], named)
    raise AssertionError(f"cannot tell which class this names: {ast.unparse(node)}")


def named_classes(path: str) -> Iterator[str]:
    """The classes that a module names; those of Java and of Scala's own library are left out."""
    tree = SOURCES[path]
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name in CLASS_FUNCTIONS:
            continue
        named = {**OF_TABLE, **vars_of(tree)}
        for node in ast.walk(function):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                named[node.target.id] = node.iter
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named[node.targets[0].id] = node.value
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name not in CLASS_FUNCTIONS or path == "jvm.py":
                continue
            for value in texts(node.args[CLASS_FUNCTIONS[name]], named):
                prefix = "org.apache.spark.sql.catalyst." if name in ("_class", "_object") else ""
                suffix = "$" if name == "_object" else ""
                full = f"{prefix}{value.replace('.MODULE$', '')}{suffix}"
                if not full.startswith(("java.", "scala.Option", "scala.Tuple2")):
                    yield full


def called_methods(path: str) -> set[str]:
    return {
        node.func.attr
        for node in ast.walk(SOURCES[path])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def python_methods() -> set[str]:
    """The methods of Python's own classes, of PySpark's, and of this package's."""
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.catalog import Catalog
    from pyspark.sql.conf import RuntimeConfig
    from pyspark.sql.connect.client import SparkConnectClient

    kinds = [value for value in vars(builtins).values() if isinstance(value, type)]
    kinds += [DataFrame, DataFrameReader, SparkSession, Catalog, RuntimeConfig, SparkConnectClient]
    kinds += [logging.Logger, re.Pattern, re.Match, contextlib.ExitStack]
    names = {name for kind in kinds for name in dir(kind)}
    for path in PACKAGE.parent.rglob("*.py"):
        names.update(re.findall(r"\bdef (\w+)", path.read_text()))
    return names


LISTED = {item.class_name for items in METHODS.values() for item in items}
LISTED_METHODS = {item.name for items in METHODS.values() for item in items}


def test_every_class_that_the_code_names_is_listed() -> None:
    named = {name for path in SOURCES for name in named_classes(path)}
    assert len(named) > 25
    assert named - LISTED == {"org.apache.spark.sql.catalyst.plans.logical.Command"}, (
        "a class, of which no method is called"
    )


def test_code_reaches_classes_by_name_only_through_the_functions() -> None:
    """Otherwise the other tests do not see them."""
    packages = [
        f"{path}: {ast.unparse(node)}"
        for path, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value).endswith("jvm")
        and node.attr not in ("java", "_gateway_client")
    ]
    assert packages == []


def test_every_method_that_the_code_calls_is_listed() -> None:
    called = {name for path in READERS for name in called_methods(path)}
    assert sorted(called - LISTED_METHODS - OF_JAVA - OF_PYTHON - python_methods()) == []


def test_code_calls_every_listed_method() -> None:
    words = {word for text in TEXTS.values() for word in re.findall(r"\w+", text)}
    unused = LISTED_METHODS - words
    assert unused == {CONSTRUCTOR}


@pytest.mark.parametrize("feature", Feature)
def test_every_feature_is_asked_for(feature: Feature) -> None:
    """A listed method without a question is not probed."""
    asked = f"Feature.{feature.name}"
    assert any(asked in text for text in TEXTS.values())


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.5.9", "org.apache.spark.sql.Dataset"), ("4.1.4", "org.apache.spark.sql.classic.Dataset")],
)
def test_classes_of_sessions_are_in_the_package_of_the_version(version: str, expected: str) -> None:
    assert class_in(f"{SESSION_PACKAGE}.Dataset", version) == expected
    assert expected in {item.class_name for item in methods_of(Feature.PLANS, version)}
