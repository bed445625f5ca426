import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog import Catalog

from hive_views.errors import InvalidIdentifierError
from hive_views.identifiers import (
    HIVE_2_AND_3,
    HIVE_4,
    MAX_NAME_LENGTH,
    NameCharacters,
    ViewName,
    check_new_name,
    is_stored_everywhere,
    parse_namespace,
)


@pytest.mark.parametrize(
    ("identifier", "catalog", "expected"),
    [
        ("Sales.Top", None, ("sales", "top")),
        (("Sales", "Top"), None, ("sales", "top")),
        ("prod.sales.top", "prod", ("sales", "top")),
        (("prod", "sales", "top"), "prod", ("sales", "top")),
        # A name that only newer servers take is still readable.
        (("sales", "top-10 of"), None, ("sales", "top-10 of")),
    ],
)
def test_identifier_forms_are_parsed(identifier, catalog, expected):
    assert ViewName.parse(identifier, catalog=catalog).identifier == expected


@pytest.mark.parametrize(
    "identifier",
    ["top", "", ".", "sales.", ".top", "a.b.c", "other.sales.top", (), ("a",), ("a", ""), ("a", 1), (None, "v")],
)
def test_identifier_without_two_levels_is_rejected(identifier):
    with pytest.raises(InvalidIdentifierError, match="Invalid identifier") as caught:
        ViewName.parse(identifier, catalog="prod")
    assert caught.value.identifier == identifier


def check(part: str, server: NameCharacters) -> None:
    check_new_name(part, f"sales.{part}", server.tables, server.servers)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("größe", "'ö', which a metastore of Hive 4 does not store"),
        ("表", "does not store"),
        ("a\n", "does not store"),
        ("a\\b", "does not store"),
        ("a`b", "cannot be part of a view's name in Spark"),
        ("a/b", "separates parts of a location"),
        ("a%b", "escaped"),
        ("a.b", "separates the levels of a name"),
        ("@a#b", "belongs to the metastore's form of names"),
        ("x" * (MAX_NAME_LENGTH + 1), "257 characters"),
        (" a", "removes the spaces"),
        (" ", "removes the spaces"),
    ],
)
def test_new_name_that_no_server_or_reader_takes_is_rejected(name, reason):
    with pytest.raises(InvalidIdentifierError, match=re.escape(reason)) as raised:
        check(name, HIVE_4)
    assert raised.value.identifier == f"sales.{name}"


@pytest.mark.parametrize("name", ["top-10", "to p", "a'b", "<b>", "r&d", "a$b"])
def test_new_name_of_hive_4_is_rejected_before_it(name):
    check(name, HIVE_4)
    with pytest.raises(InvalidIdentifierError, match="which a metastore of Hive 2 or 3 does not store"):
        check(name, HIVE_2_AND_3)


def test_catalog_of_the_metastore_is_no_part_of_a_name():
    for parse in (ViewName.parse, parse_namespace):
        with pytest.raises(InvalidIdentifierError, match=r"the property metastore\.catalog\.default names it"):
            parse(("@spark#sales", "v") if parse == ViewName.parse else "@spark#sales")


def test_longest_name_is_stored_everywhere():
    assert is_stored_everywhere("v" * MAX_NAME_LENGTH)
    assert not is_stored_everywhere("v" * (MAX_NAME_LENGTH + 1))


@given(st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True), st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True))
def test_show_create_output_is_parsed(database, name):
    parsed = ViewName.parse(f"{database}.{name}")
    assert ViewName.parse(str(parsed)) == parsed
    assert all(map(is_stored_everywhere, parsed))


@pytest.mark.parametrize(
    ("namespace", "expected"), [("Sales", "sales"), (("sales",), "sales"), ("prod.sales", "sales")]
)
def test_namespace_has_one_level(namespace, expected):
    assert parse_namespace(namespace, catalog="prod") == expected


@pytest.mark.parametrize("namespace", ["", (), ("a", "b"), "a.b", ("",)])
def test_nested_namespaces_are_rejected(namespace):
    with pytest.raises(InvalidIdentifierError):
        parse_namespace(namespace, catalog="prod")


def test_name_is_an_identifier_of_pyiceberg():
    name = ViewName("sales", "v")
    assert ViewName.parse(name) == name == ("sales", "v")
    assert Catalog.identifier_to_tuple(name) == ("sales", "v")
    assert str(name) == f"{name}" == "sales.v"
