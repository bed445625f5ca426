"""Properties under the names that Hive and Spark give them: converted to this package's, or answered with them.

A setting of the connection that is ignored, such as `hive.metastore.use.SSL`, connects otherwise than its author wants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hive_views.config import (
    AUTHENTICATION,
    CALL_TIMEOUT_MS,
    DISCOVERY_MODE,
    KERBEROS_AUTHENTICATION,
    METASTORE_CATALOG,
    SERVICE_PRINCIPAL,
    TLS,
    TLS_CA_FILE,
    TOKEN_FILE,
    URI,
    USER,
    WAREHOUSE,
    ZOOKEEPER_NAMESPACE,
    ZOOKEEPER_PORT,
    ZOOKEEPER_TLS,
)
from hive_views.errors import InvalidPropertyError

SPARK_PREFIXES = ("spark.hadoop.", "spark.", "hadoop.")
"""What Spark puts in front of Hive's names, in its own configuration and in that of its Iceberg catalogs."""


class Converted(NamedTuple):
    """A property with an equivalent of this package."""

    key: str
    convert: Callable[[str], str | None] = str
    """Return the value of `key`; None if it needs none. Raises ValueError with the reason if there is no equivalent."""


class Unsupported(NamedTuple):
    """A property without an equivalent."""

    answer: str
    harmless: tuple[str, ...] = ()
    """Values in lower case that change nothing."""
    is_answered: Callable[[Mapping[str, str]], bool] = lambda properties: False
    """Whether other properties have what the answer asks for."""


def _has(key: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda properties: bool(properties.get(key))


def _uses_http(properties: Mapping[str, str]) -> bool:
    return str(properties.get(URI, "")).startswith("http")


def _flag(value: str) -> str:
    return value.strip().lower()


def _if_true(value: str) -> str | None:
    return None if _flag(value) == "false" else _flag(value)


def _milliseconds(value: str) -> str:
    # With its package it imports PyIceberg, which fails if PyIceberg's configuration cannot be read.
    from hive_views.metastore.hive_times import milliseconds

    number = milliseconds(value)
    if number is None:
        raise ValueError("it must be a time such as 600s")
    return str(max(1, int(number)))


def _warehouse(value: str) -> str:
    if not re.match(r"[a-z][a-z0-9+.-]*:", value.strip(), re.IGNORECASE):
        raise ValueError(
            f"without a scheme it is a directory of Hadoop's default file system. Name it with scheme and host: "
            f"{WAREHOUSE}=hdfs://host/directory"
        )
    return value.strip()


_AUTH_MODES = {"nosasl": None, "kerberos": "kerberos", "plain": "plain", "jwt": "jwt"}


def _authentication(value: str) -> str | None:
    if _flag(value) not in _AUTH_MODES:
        raise ValueError(f"it must be one of {', '.join(_AUTH_MODES).upper()}")
    return _AUTH_MODES[_flag(value)]


_TRUST_STORE = (
    f"Java's key stores cannot be read. Export the certificates as PEM (keytool -exportcert -rfc) and name "
    f"the file with {TLS_CA_FILE}"
)

HIVE_PROPERTIES: Mapping[str, Converted | Unsupported] = {
    "metastore.uris": Converted(URI),
    "metastore.thrift.uris": Converted(URI),
    "metastore.service.discovery.mode": Converted(DISCOVERY_MODE),
    "metastore.zookeeper.namespace": Converted(ZOOKEEPER_NAMESPACE),
    "zookeeper.namespace": Converted(ZOOKEEPER_NAMESPACE),
    "metastore.zookeeper.client.port": Converted(ZOOKEEPER_PORT),
    "zookeeper.client.port": Converted(ZOOKEEPER_PORT),
    "metastore.zookeeper.ssl.client.enable": Converted(ZOOKEEPER_TLS, _flag),
    "zookeeper.ssl.client.enable": Converted(ZOOKEEPER_TLS, _flag),
    "metastore.warehouse.dir": Converted(WAREHOUSE, _warehouse),
    "metastore.catalog.default": Converted(METASTORE_CATALOG),
    "metastore.use.SSL": Converted(TLS, _flag),
    "metastore.truststore.path": Unsupported(_TRUST_STORE, (), _has(TLS_CA_FILE)),
    "metastore.truststore.password": Unsupported(_TRUST_STORE, (), _has(TLS_CA_FILE)),
    "metastore.sasl.enabled": Converted(KERBEROS_AUTHENTICATION, _if_true),
    "metastore.kerberos.principal": Converted(SERVICE_PRINCIPAL),
    "metastore.client.auth.mode": Converted(AUTHENTICATION, _authentication),
    "metastore.client.plain.username": Converted(USER),
    "metastore.token.signature": Unsupported(
        f"{TOKEN_FILE} names a file with the delegation token", (), _has(TOKEN_FILE)
    ),
    "metastore.client.socket.timeout": Converted(CALL_TIMEOUT_MS, _milliseconds),
    "metastore.client.thrift.transport.mode": Unsupported(
        f"the scheme of {URI} chooses HTTP: https://host:port/metastore", ("binary",), _uses_http
    ),
    "metastore.client.thrift.http.path": Unsupported(
        f"the path is a part of {URI}: https://host:port/metastore", (), _uses_http
    ),
    "metastore.thrift.framed.transport.enabled": Unsupported("framed transport is not supported", ("false",)),
    "metastore.thrift.compact.protocol.enabled": Unsupported("the compact protocol is not supported", ("false",)),
}
"""Hive's client properties, without the `hive.` that most names may have in front (MetastoreConf of Hive 4.1.0)."""

_OTHER_NAMES = {"spark.sql.warehouse.dir": "metastore.warehouse.dir"}


def with_own_names(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with Hive's and Spark's replaced by the equivalent properties of this package.

    Raises:
        InvalidPropertyError: If a property has no equivalent, or another value than its equivalent.
    """
    converted = {key: value for key, value in properties.items() if _find(key) is None}
    for key, given in properties.items():
        rule, value = _find(key), str(given)
        # Values are not repeated in errors: some are secret.
        if isinstance(rule, Unsupported):
            if _flag(value) in rule.harmless or rule.is_answered(properties):
                continue
            raise InvalidPropertyError(key, None, rule.answer)
        if rule is None:
            continue
        try:
            own_value = rule.convert(value)
        except ValueError as error:
            if rule.key in properties:
                continue
            raise InvalidPropertyError(key, None, str(error)) from None
        if own_value is None:
            continue
        if converted.setdefault(rule.key, own_value) != own_value:
            raise InvalidPropertyError(
                key, None, f"{rule.key} is its name here, and has another value. Remove one of them"
            )
    return converted


def _find(key: str) -> Converted | Unsupported | None:
    """Return what to do with a property; None if it is neither Hive's nor Spark's name of one."""
    name = next((key.removeprefix(prefix) for prefix in SPARK_PREFIXES if key.startswith(prefix)), key)
    return HIVE_PROPERTIES.get(_OTHER_NAMES.get(key) or name.removeprefix("hive."))
