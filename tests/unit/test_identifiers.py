import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog import Catalog

from hive_views.errors import InvalidIdentifierError
from hive_views.identifiers import MAX_NAME_LENGTH, ViewName, parse_namespace


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


@pytest.mark.parametrize(
    "name", ["top-10", "to p", "größe", "表", "a`b", "x" * (MAX_NAME_LENGTH + 1), "a/b", "a\n", "a%b", "a.b", " "]
)
def test_new_name_with_unsupported_characters_is_rejected(name):
    with pytest.raises(InvalidIdentifierError):
        ViewName("sales", name).check_writable()


def test_catalog_of_the_metastore_is_no_part_of_a_name():
    for parse in (ViewName.parse, parse_namespace):
        with pytest.raises(InvalidIdentifierError, match=r"the property metastore\.catalog\.default names it"):
            parse(("@spark#sales", "v") if parse == ViewName.parse else "@spark#sales")


def test_view_can_be_created_in_database_with_any_name():
    name = ViewName("to-p", "v")
    assert name.check_writable() is name


def test_longest_name_is_writable():
    name = ViewName("d" * MAX_NAME_LENGTH, "v" * MAX_NAME_LENGTH)
    assert name.check_writable() is name


@given(st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True), st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True))
def test_show_create_output_is_parsed(database, name):
    parsed = ViewName.parse(f"{database}.{name}")
    assert ViewName.parse(str(parsed)) == parsed.check_writable()


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
