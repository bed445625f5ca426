"""Reaches classes and methods of a classic session's JVM by name, through Py4J.

Which ones the package names, and which of them a JVM lacks, is in `java_features`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONSTRUCTOR = "<init>"
"""The name of a class's constructors."""
_PUBLIC = re.compile(r"public (?:[\w$.\[\]]+ )*([\w$.]+)\(([^)]*)\)")
"""A method or constructor in Java's text of it: `public static int java.lang.Integer.compare(int,int)`."""


def is_classic(session: SparkSession) -> bool:
    """Return whether a session runs in a JVM of this process, and not on a Spark Connect server."""
    return hasattr(session, "_jsparkSession")


@cache
def java_class(jvm: Any, name: str) -> Any:
    """Return a class of the JVM or the value of a static field; for static methods see `static_method`.

    Cached, since Py4J makes a call for each part of the name.
    """
    return reduce(getattr, name.split("."), jvm)


def static_method(jvm: Any, class_name: str, name: str) -> Any:
    """Return a static method of a class of the JVM; nothing is looked up before it is called.

    As an attribute of the class, Py4J looks it up by its name alone, and rejects it if the JVM, which lists methods in
    any order, lists an instance method of that name first: `SparkTableCache.get` on Java 17 with Iceberg 1.11 for Spark
    3.5 and 4.0, but not for 4.1. A call selects the method by its arguments.
    """
    from py4j.java_gateway import JavaMember
    from py4j.protocol import STATIC_PREFIX

    return JavaMember(name, None, f"{STATIC_PREFIX}{class_name}", jvm._gateway_client)


@dataclass(frozen=True)
class JavaMethod:
    """A public method or constructor of a class of the JVM that is called by name, so that a release may lack it."""

    class_name: str
    name: str
    parameters: tuple[int, ...]
    """The number of its parameters; several if the code calls the form that the JVM has."""

    def __str__(self) -> str:
        return f"{self.class_name}.{self.name}"


def missing_methods(jvm: Any, methods: Iterable[JavaMethod]) -> list[JavaMethod]:
    """Return the methods that the classes of a classic session's JVM do not have.

    A class takes four calls, unless methods are listed that it inherits: all methods of an operator of Spark's plans
    take 50 ms to print.
    """
    wanted = list(methods)
    mirrors = {name: _mirror(jvm, name) for name in dict.fromkeys(item.class_name for item in wanted)}
    existing = [mirror for mirror in mirrors.values() if mirror is not None]
    arrays = [array for mirror in existing for array in (mirror.getDeclaredMethods(), mirror.getConstructors())]
    declared = _members(jvm, arrays)
    missing = []
    for item in wanted:
        mirror = mirrors[item.class_name]
        name = item.class_name if item.name == CONSTRUCTOR else str(item)
        if mirror is None or declared.isdisjoint((name, count) for count in item.parameters):
            inherited = _inherited(jvm, mirror)
            if inherited.isdisjoint((item.name, count) for count in item.parameters):
                missing.append(item)
    return missing


def _mirror(jvm: Any, class_name: str) -> Any:
    """Return the object of Java's reflection for a class; None if there is none."""
    from py4j.java_gateway import JavaClass, get_java_class

    existing = java_class(jvm, class_name)
    return get_java_class(existing) if isinstance(existing, JavaClass) else None


@cache
def _inherited(jvm: Any, mirror: Any) -> frozenset[tuple[str, int]]:
    """Return the names and numbers of parameters of all public methods of a class."""
    members = [] if mirror is None else _members(jvm, [mirror.getMethods()])
    return frozenset((name.rpartition(".")[2], count) for name, count in members)


def _members(jvm: Any, arrays: Sequence[Any]) -> set[tuple[str, int]]:
    """Return the names, with their classes, and numbers of parameters in arrays of Java's methods and constructors."""
    # As one text, in place of three calls for each method. Py4J does not pass an array of methods as one of objects.
    java_object = _mirror(jvm, "java.lang.Object")
    copied = static_method(jvm, "java.lang.reflect.Array", "newInstance")(java_object, len(arrays))
    for position, array in enumerate(arrays):
        static_method(jvm, "java.lang.reflect.Array", "set")(copied, position, array)
    matches = _PUBLIC.findall(static_method(jvm, "java.util.Arrays", "deepToString")(copied))
    return {(name, len(parameters.split(",")) if parameters else 0) for name, parameters in matches}


def scala_list(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence of a classic session's JVM."""
    return [sequence.apply(position) for position in range(sequence.size())]


def scala_sequence(jvm: Any, items: Any) -> Any:
    """Return a Scala sequence with the items of a list, of Python or Java."""
    return static_method(jvm, "org.apache.spark.api.python.PythonUtils", "toSeq")(items)


def relation_with_output(jvm: Any, relation: Any, output: Any) -> Any:
    """Return a DataSourceV2Relation of a plan with other attributes for its columns, a Scala sequence."""
    kind = java_class(jvm, "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation")
    arguments = [relation.table(), output, relation.catalog(), relation.identifier(), relation.options()]
    if relation.productArity() > len(arguments):  # Spark 4.1
        arguments.append(relation.timeTravelSpec())
    return kind(*arguments)
