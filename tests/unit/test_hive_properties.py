"""Hive's and Spark's names of properties: what a catalog makes of them. Nothing connects."""

from __future__ import annotations

from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.catalog.hive_properties import HIVE_PROPERTIES, Converted
from hive_views.config import CatalogConfig
from hive_views.errors import InvalidPropertyError

URI = {"uri": "thrift://host:9083"}
PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")

CONVERTED = {
    ("metastore.catalog.default", "spark"): ("metastore.catalog.default", "spark"),
    ("hive.metastore.warehouse.dir", "hdfs://nn/hive"): ("warehouse", "hdfs://nn/hive"),
    ("metastore.use.SSL", "TRUE"): ("hive-views.tls", "true"),
    ("hive.metastore.sasl.enabled", "true"): ("hive.kerberos-authentication", "true"),
    ("hive.metastore.kerberos.principal", "hms/alias@REALM"): ("hive.metastore.kerberos.principal", "hms/alias@REALM"),
    ("hive.metastore.client.auth.mode", "KERBEROS"): ("hive-views.authentication", "kerberos"),
    ("hive.metastore.client.plain.username", "ann"): ("hive-views.user", "ann"),
    ("hive.metastore.client.socket.timeout", "600s"): ("hive-views.call-timeout-ms", "600000"),
}
"""Properties, and their equivalents."""

ANSWERED = {
    ("hive.metastore.truststore.path", "/secret/store.jks"): "hive-views.tls-ca-file",
    ("hive.metastore.truststore.password", "secret"): "hive-views.tls-ca-file",
    ("hive.metastore.token.signature", "secret"): "hive-views.token-file",
    ("hive.metastore.client.thrift.transport.mode", "http"): "https://host:port/metastore",
    ("hive.metastore.client.thrift.http.path", "secret"): "https://host:port/metastore",
    ("hive.metastore.warehouse.dir", "/user/hive/warehouse"): "warehouse=hdfs://host/directory",
    ("hive.metastore.client.socket.timeout", "soon"): "600s",
    ("hive.metastore.client.auth.mode", "LDAP"): "NOSASL",
    ("metastore.thrift.framed.transport.enabled", "true"): "not supported",
}
"""Properties that are refused, and what the error names."""


def opened(**properties: str) -> dict[str, str]:
    """The properties of a catalog."""
    with HiveViewCatalog("prod", **properties) as catalog:
        return dict(catalog.properties)


@pytest.mark.parametrize("prefix", ["", "spark.hadoop.", "spark.", "hadoop."])
@pytest.mark.parametrize(("given", "expected"), CONVERTED.items())
def test_property_is_converted(prefix: str, given: tuple[str, str], expected: tuple[str, str]) -> None:
    key, value = given
    properties = opened(**URI, **{f"{prefix}{key}": value})
    assert properties[expected[0]] == expected[1]
    assert f"{prefix}{key}" == expected[0] or f"{prefix}{key}" not in properties


@pytest.mark.parametrize("key", ["hive.metastore.uris", "metastore.thrift.uris", "spark.hive.metastore.uris"])
def test_uri_is_converted_before_a_configuration_is_read(key: str) -> None:
    assert opened(**{key: "thrift://one:1"})["uri"] == "thrift://one:1"


def test_spark_warehouse_is_the_warehouse() -> None:
    assert opened(**URI, **{"spark.sql.warehouse.dir": "s3a://bucket/w"})["warehouse"] == "s3a://bucket/w"


@pytest.mark.parametrize(("given", "answer"), ANSWERED.items())
def test_property_without_equivalent_is_answered(given: tuple[str, str], answer: str) -> None:
    with pytest.raises(InvalidPropertyError, match=answer) as raised:
        opened(**URI, **dict([given]))
    assert given[0] in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hive.metastore.sasl.enabled", "false"),
        ("hive.metastore.client.auth.mode", "NOSASL"),
        ("hive.metastore.client.thrift.transport.mode", "binary"),
        ("metastore.thrift.compact.protocol.enabled", "false"),
        ("hive.metastore.execute.setugi", "true"),
    ],
)
def test_default_changes_nothing(key: str, value: str) -> None:
    secret = {"hive-views.authentication": "plain", "hive-views.user": "ann", "hive-views.password": "s"}
    properties = {**URI, **secret}
    assert CatalogConfig.from_properties(opened(**properties, **{key: value})) == CatalogConfig.from_properties(
        properties
    )


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (
            ("hive.metastore.truststore.path", "/store.jks"),
            {"hive-views.tls": "true", "hive-views.tls-ca-file": "ca.pem"},
        ),
        (("hive.metastore.token.signature", "s"), {"hive-views.token-file": "token"}),
        (("hive.metastore.client.thrift.transport.mode", "http"), {"uri": "https://host:9083/metastore"}),
        (("hive.metastore.warehouse.dir", "/user/hive/warehouse"), {"warehouse": "hdfs://nn/user/hive/warehouse"}),
    ],
)
def test_answered_property_is_accepted(given: tuple[str, str], answer: dict[str, str]) -> None:
    properties = opened(**{**URI, **answer}, **dict([given]))
    assert given[0] not in properties
    assert properties.items() >= answer.items()


def test_two_values_of_one_property_are_refused() -> None:
    with pytest.raises(InvalidPropertyError, match="uri is its name here, and has another value"):
        opened(**URI, **{"hive.metastore.uris": "thrift://other:9083"})
    assert opened(**URI, **{"hive.metastore.uris": URI["uri"]})["uri"] == URI["uri"]


def test_authentication_goes_with_sasl() -> None:
    """Hive's clients with a token set `sasl.enabled`, too."""
    token = {"hive-views.authentication": "token", "hive-views.token": "t"}
    properties = opened(**URI, **token, **{"hive.metastore.sasl.enabled": "true"})
    credentials = CatalogConfig.from_properties(properties).connection.credentials
    assert credentials is not None
    assert credentials.kind == "token"


def test_each_property_is_documented() -> None:
    for name, rule in HIVE_PROPERTIES.items():
        row = next((line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line), None)
        assert row is not None, name
        assert not isinstance(rule, Converted) or f"`{rule.key}" in row, name
