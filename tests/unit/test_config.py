import traceback

import pytest
from pyiceberg.io.fsspec import FsspecFileIO

from hive_views import HiveViewCatalog, config
from hive_views.config import CatalogConfig
from hive_views.errors import InvalidPropertyError

URI = {"uri": "thrift://localhost:9083"}
MISSPELLED = {
    "hive-views.tsl": "hive-views.tls",
    "hive-views.authenticaton": "hive-views.authentication",
    "hive_views.tls": "hive-views.tls",
    "Hive-Views.TLS": "hive-views.tls",
    "hive-view.password-file": "hive-views.password-file",
    "hiveviews.token": "hive-views.token",
    "hive-views.tls_ca_file": "hive-views.tls-ca-file",
    "hive-views.call-timeout": "hive-views.call-timeout-ms",
}


def test_config_with_uri_only_has_defaults():
    read = CatalogConfig.from_properties(URI)
    assert read.connection.uris == ("thrift://localhost:9083",)
    assert read.connection.call_timeout_ms > 20_000  # a server retries a failing database that long
    assert read.lock.enabled
    assert read.warehouse is None


def test_every_property_is_read():
    read = CatalogConfig.from_properties(
        {
            "uri": "thrift://a:1, thrift://[::1]:2",
            "warehouse": "s3://bucket/wh/",
            "ugi": "me:staff,bi",
            config.CONNECT_TIMEOUT_MS: "1",
            config.CALL_TIMEOUT_MS: "2",
            config.POOL_SIZE: "3",
            config.SETTLE_TIMEOUT_MS: "4",
            config.LOCK_ENABLED: "false",
            config.LOCK_TIMEOUT_MS: "5",
            config.LOCK_CHECK_MIN_WAIT_MS: "6",
            config.LOCK_CHECK_MAX_WAIT_MS: "7",
            config.LOCK_HEARTBEAT_INTERVAL_MS: "8",
            config.PARAMETER_MAX_SIZE: "0",
            config.UNIQUE_LOCATION: "TRUE",
            config.HIVE2_COMPATIBLE: "false",
            "view-default.a": "x",
            "view-override.b": "y",
            "s3.endpoint": "not ours",
        }
    )
    assert read.connection == config.ConnectionConfig(
        ("thrift://a:1", "thrift://[::1]:2"), 1, 2, 3, "me", ("staff", "bi")
    )
    assert read.lock == config.LockConfig(False, 5, 6, 7, 8)
    assert (read.warehouse, read.settle_timeout_ms, read.parameter_max_size) == ("s3://bucket/wh", 4, 0)
    assert read.unique_location and not read.hive2_compatible
    assert (dict(read.view_defaults), dict(read.view_overrides)) == ({"a": "x"}, {"b": "y"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("uri", ""),
        ("uri", "localhost:9083"),
        ("uri", "thrift://localhost"),
        ("uri", "thrift://:9083"),
        ("uri", "thrift://a..b:9083"),
        ("uri", f"thrift://{'x' * 64}.com:9083"),
        ("uri", "thrift://a:70000"),
        ("uri", "thrift://a:1,http://b:2"),
        ("uri", "thrift://a:1/metastore"),
        ("uri", "http://a/metastore"),
        ("uri", "http://a:1/metastore?x=1"),
        ("uri", "ftp://a:1"),
        ("ugi", ":staff"),
        (config.CALL_TIMEOUT_MS, "soon"),
        (config.CALL_TIMEOUT_MS, "0"),
        (config.POOL_SIZE, "-1"),
        (config.LOCK_ENABLED, "yes"),
        (config.LOCK_CHECK_MAX_WAIT_MS, "1"),  # below the least wait
        (config.PARAMETER_MAX_SIZE, "-1"),
        (config.METASTORE_CATALOG, ""),
        (config.METASTORE_CATALOG, "a#b"),
        *((key, "true") for key in MISSPELLED),
    ],
)
def test_invalid_property_is_named_in_error(key, value):
    with pytest.raises(InvalidPropertyError, match="Invalid property") as caught:
        CatalogConfig.from_properties({**URI, key: value})
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("scheme", "properties", "reason"),
    [
        (
            "http",
            {config.AUTHENTICATION: "token", config.TOKEN: "x"},
            "not supported over HTTP. Use one of none, kerberos, plain, jwt",
        ),
        ("http", {config.KERBEROS_AUTHENTICATION: "true", config.PROXY_USER: "bob"}, "it requires a uri"),
        ("http", {config.UGI: "me:staff"}, "groups cannot be sent over HTTP"),
        ("http", {config.TLS: "true"}, "the uri says http"),
        ("https", {config.TLS: "false"}, "the uri says https"),
        ("http", {config.TLS_CA_FILE: "ca.pem"}, "no effect"),
        ("thrift", {config.AUTHENTICATION: "jwt", config.TOKEN: "x"}, "it requires HTTP"),
    ],
)
def test_property_that_does_not_fit_the_transport_is_rejected(scheme, properties, reason):
    with pytest.raises(InvalidPropertyError, match=reason):
        CatalogConfig.from_properties({"uri": f"{scheme}://localhost:9083", **properties})


def test_service_of_kerberos_depends_on_the_transport():
    for uri, more, service in (
        ("thrift://a:1", {}, "hive"),
        ("http://a:1", {}, "HTTP"),
        ("https://a:1", {}, "HTTP"),
        ("https://a:1", {config.KERBEROS_SERVICE_NAME: "hive"}, "hive"),
    ):
        properties = {"uri": uri, config.AUTHENTICATION: "kerberos", **more}
        assert CatalogConfig.from_properties(properties).connection.credentials.service == service


@pytest.mark.parametrize("authentication", ["none", "plain", "token"])
def test_proxy_user_needs_kerberos(authentication):
    properties = {"hive-views.authentication": authentication, "hive-views.proxy-user": "bob"}
    with pytest.raises(InvalidPropertyError, match="it requires hive-views"):
        CatalogConfig.from_properties({"uri": "thrift://localhost:9083", **properties})


def test_https_uri_enables_tls_and_sends_the_user():
    read = CatalogConfig.from_properties(
        {"uri": "https://a:1/x,https://[::1]:2", config.TLS_CA_FILE: "ca.pem"}
    ).connection
    assert read.uris == ("https://a:1/x", "https://[::1]:2")
    assert (read.is_http, read.tls, read.user) == (True, config.TlsConfig("ca.pem"), config.current_user())


def test_name_of_metastore_catalog_is_lowered():
    assert CatalogConfig.from_properties({**URI, "metastore.catalog.default": "Spark"}).connection.catalog == "spark"


def test_missing_uri_error_shows_expected_form():
    with pytest.raises(InvalidPropertyError, match="thrift://host:9083"):
        CatalogConfig.from_properties({})


@pytest.mark.parametrize("uri", ["thrift://ann:secret@host:9083", "thrift://ann:secret@host", "ann:secret@host:1"])
def test_password_in_uri_is_rejected_without_showing_it(uri):
    with pytest.raises(InvalidPropertyError, match="has no user") as caught:
        CatalogConfig.from_properties({"uri": f"thrift://other:9083,{uri}"})
    assert "secret" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize("uri", ["thrift:ann:secret", "thrift://ann:secret", "thrift://ann:secret:9083/", "secret/1"])
def test_uri_with_possible_password_is_not_shown(uri):
    with pytest.raises(InvalidPropertyError, match="not of the form thrift://host:port") as caught:
        CatalogConfig.from_properties({"uri": f"thrift://other:9083,{uri}"})
    assert "secret" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize(
    "warehouse", ["s3://key:secret@b", "s3://key:sec/ret+secret@b/w", "hdfs://ann:secret@host:8020/w"]
)
def test_password_in_warehouse_is_rejected_without_showing_it(warehouse):
    with pytest.raises(InvalidPropertyError, match="password") as caught:
        CatalogConfig.from_properties({**URI, "warehouse": warehouse})
    assert "secret" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize(
    "warehouse",
    [
        "abfss://container@account.dfs.core.windows.net/w",
        "hdfs://host:8020/w@x",
        "s3://b/a:b@c",
        "file:/w:x@y",
        "/w:x@y",
    ],
)
def test_warehouse_without_password_is_accepted(warehouse):
    assert CatalogConfig.from_properties({**URI, "warehouse": warehouse}).warehouse == warehouse


@pytest.mark.parametrize(("key", "similar"), MISSPELLED.items())
def test_misspelled_property_is_an_error_that_names_the_similar_one(key, similar):
    with pytest.raises(InvalidPropertyError, match=rf"did you mean {similar}\?$") as caught:
        CatalogConfig.from_properties({**URI, key: "secret"})
    assert "secret" not in str(caught.value)


def test_properties_of_others_are_not_checked():
    CatalogConfig.from_properties({**URI, "hive.metastore.uris": "x", "view-default.hive-views.max-staleness-ms": "1"})


PLAIN = {config.AUTHENTICATION: "plain", config.USER: "ann"}


@pytest.mark.parametrize(
    ("content", "password"),
    [
        (b" s p ace \n", " s p ace "),
        (b"s3cret", "s3cret"),
        (b"s3cret\r\n", "s3cret"),
        (b"s3cret\n\n", "s3cret\n"),
        ("schlüssel\t\n".encode(), "schlüssel\t"),
    ],
)
def test_password_file_is_read_without_its_last_line_break(tmp_path, content, password):
    file = tmp_path / "password"
    file.write_bytes(content)
    credentials = CatalogConfig.from_properties(
        {**URI, **PLAIN, config.PASSWORD_FILE: str(file)}
    ).connection.credentials
    assert credentials.secret.current() == password


@pytest.mark.parametrize(
    ("authentication", "key"),
    [
        ({config.AUTHENTICATION: "plain"}, config.PASSWORD_FILE),
        ({config.AUTHENTICATION: "token"}, config.TOKEN_FILE),
        ({config.TLS: "true"}, config.TLS_KEY_PASSWORD_FILE),
    ],
)
@pytest.mark.parametrize("value", ["s3cret", "/s3cret", "~s3cret", "s3cret\0", "s3cret" * 1000])
def test_secret_given_as_file_name_is_not_shown(authentication, key, value):
    with pytest.raises(InvalidPropertyError, match="the file that it names cannot be read") as raised:
        CatalogConfig.from_properties({**URI, **authentication, key: value})
    assert raised.value.key == key
    assert "s3cret" not in "".join(traceback.format_exception(raised.value)) + repr(vars(raised.value))


def test_secret_that_is_no_text_is_not_shown(tmp_path):
    (tmp_path / "binary").write_bytes(b"s3cret\xff")
    with pytest.raises(InvalidPropertyError, match="it is not text in UTF-8"):
        CatalogConfig.from_properties({**URI, **PLAIN, config.PASSWORD_FILE: str(tmp_path / "binary")})


def test_passphrase_of_tls_key(monkeypatch):
    properties = {**URI, config.TLS: "true", config.TLS_KEY_FILE: "key.pem"}
    assert CatalogConfig.from_properties(properties).connection.tls == config.TlsConfig(key_file="key.pem")
    monkeypatch.setenv(config.TLS_KEY_PASSWORD_VARIABLE, "s3cret")
    tls = CatalogConfig.from_properties(properties).connection.tls
    assert tls.key_password.current() == "s3cret"
    assert "s3cret" not in repr(tls)


class CustomFileIO(FsspecFileIO):
    """A FileIO of somebody else."""


def test_secrets_are_not_handed_to_a_custom_file_io():
    secrets = dict.fromkeys(config.SECRETS, "s3cret")
    more = {config.TLS: "true", "s3.endpoint": "http://x", "py-io-impl": f"{__name__}.CustomFileIO"}
    with HiveViewCatalog("prod", warehouse="file:/tmp", **URI, **PLAIN, **secrets, **more) as catalog:
        io = catalog.store.files.io("file:/tmp/x")
    assert isinstance(io, CustomFileIO)
    assert io.properties["s3.endpoint"] == "http://x"
    assert "s3cret" not in repr(io.properties)
