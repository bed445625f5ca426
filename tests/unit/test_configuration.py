"""Catalogs of PyIceberg's configuration: the class that comes, its properties, and errors. Nothing connects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog, load_catalog
from hive_views.catalog.configuration import PY_CATALOG_IMPL
from hive_views.errors import CatalogConfigurationError, InvalidPropertyError

YAML = """\
catalog:
  prod:
    uri: thrift://prod:9083
    py-catalog-impl: hive_views.catalog.HiveViewCatalog
    warehouse: s3://bucket/warehouse
    hive-views.pool-size: "3"
  other:
    uri: thrift://other:9083
  rest:
    type: rest
    uri: http://rest
  misspelled:
    uri: thrift://prod:9083
    hive-views.tsl: "true"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with PyIceberg's configuration file."""
    (tmp_path / ".pyiceberg.yaml").write_text(YAML, encoding="utf-8")
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("open_catalog", [load_catalog, HiveViewCatalog])
def test_catalog_has_configured_properties(home: Path, monkeypatch: pytest.MonkeyPatch, open_catalog) -> None:
    catalog = open_catalog("prod", warehouse="file:/given")
    assert type(catalog) is HiveViewCatalog
    assert (catalog.name, catalog.properties["uri"]) == ("prod", "thrift://prod:9083")
    assert (catalog.properties["warehouse"], catalog.properties["hive-views.pool-size"]) == ("file:/given", "3")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", "thrift://environment:9083")
    assert open_catalog("prod").properties["uri"] == "thrift://environment:9083"


def test_default_catalog_is_loaded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CatalogConfigurationError, match="no catalog is named"):
        load_catalog()
    monkeypatch.setenv("PYICEBERG_DEFAULT_CATALOG", "other")
    assert load_catalog().properties["uri"] == "thrift://other:9083"


def test_given_uri_needs_no_configuration(home: Path) -> None:
    assert load_catalog("new", uri="thrift://new:9083").name == "new"
    assert load_catalog(uri="thrift://new:9083").properties["uri"] == "thrift://new:9083"
    # As before, a constructor with a URI reads no file.
    assert "warehouse" not in HiveViewCatalog("prod", uri="thrift://new:9083").properties


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("missing", CatalogConfigurationError, "has no catalog 'missing' .it has misspelled, other, prod, rest."),
        ("rest", CatalogConfigurationError, "of type 'rest', not a Hive Metastore"),
        ("misspelled", InvalidPropertyError, "did you mean hive-views.tls"),
    ],
)
def test_unusable_configuration_is_an_error(home: Path, name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_catalog(name)


def test_broken_file_is_an_error_without_its_contents(home: Path) -> None:
    (home / ".pyiceberg.yaml").write_text("catalog: {secret", encoding="utf-8")
    for open_catalog in (load_catalog, HiveViewCatalog):
        with pytest.raises(CatalogConfigurationError, match="cannot be read") as caught:
            open_catalog("prod")
        assert "secret" not in str(caught.value).replace("may be secret", "")


def test_class_that_pyiceberg_loads(home: Path) -> None:
    """PyIceberg 0.12.0 ignores py-catalog-impl in its configuration until this package's catalog was imported."""
    program = f"""if True:
        from pyiceberg.catalog import load_catalog
        given = load_catalog("prod", **{{{PY_CATALOG_IMPL!r}: "hive_views.catalog.HiveViewCatalog"}})
        print(type(given).__name__, given.properties["uri"])
        print(type(load_catalog("prod")).__name__, type(load_catalog("other")).__name__)
    """
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["HiveViewCatalog thrift://prod:9083", "HiveViewCatalog HiveCatalog"]
