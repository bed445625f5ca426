"""Database addresses and passwords."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from hive_views.errors import UsageError
from hive_views.schema_upgrade import Password, find_password, parse_address
from hive_views.schema_upgrade.address import PASSWORD_VARIABLE

VALID = [
    ("mysql://host/hive", "mysql://host:3306/hive"),
    ("mariadb://host:3307/hive", "mysql://host:3307/hive"),
    ("postgresql+psycopg://ann@host/hive", "postgresql://host:5432/hive"),
    ("jdbc:mysql://host/hive?createDatabaseIfNotExist=true", "mysql://host:3306/hive"),
    ("jdbc:mysql://host/hive?useSSL=false&sslMode=PREFERRED", "mysql://host:3306/hive"),
    ("jdbc:postgresql://host:5433/hive?currentSchema=meta", "postgresql://host:5433/hive"),
    ("jdbc:derby:;databaseName=/data/metastore_db;create=true", "derby:/data/metastore_db"),
    ("derby:/data/metastore_db", "derby:/data/metastore_db"),
]
INVALID = [
    ("mysql://ann:secret@host/hive", "it contains a password"),
    ("jdbc:mysql://host/hive?user=ann&password=secret", "it contains a password"),
    ("jdbc:derby:/d;user=a;password=b", "it contains a password"),
    ("jdbc:derby:/d;bootPassword=secret", "it contains a password"),
    ("postgresql://host/hive?sslpassword=secret", "it contains a password"),
    ("mysql://ann:secret/more@host/hive", "cannot be parsed"),
    ("mysql://ann:123/secret@host/hive", "it contains a password"),
    ("mysql//ann:secret@host/hive", "it contains a password"),
    ("mysql:ann:secret:host", "names no host"),
    ("secret:ann", "begins with none of"),
    ("oracle://host/hive", "rendered without a connection"),
    ("mysql://host", "names no database"),
    ("mysql:///hive", "names no host"),
    ("mysql://host:port/hive", "cannot be parsed"),
    ("derby://host:1527/db", "network server"),
    ("derby:", "names no directory"),
    ("jdbc:mysql://host/hive?useSSL=true", "useSSL requires TLS.*not supported"),
    ("jdbc:mysql://host/hive?sslMode=VERIFY_CA", "sslMode requires TLS"),
    ("jdbc:postgresql://host/hive?ssl", "ssl requires TLS.*PGSSLMODE"),
    ("jdbc:postgresql://host/hive?sslmode=verify-full", "sslmode requires TLS"),
]


@pytest.mark.parametrize(("url", "place"), VALID)
def test_address_is_parsed_to_its_place(url: str, place: str) -> None:
    assert parse_address(url).place == place


@pytest.mark.parametrize(("url", "reason"), INVALID)
def test_error_for_invalid_address_hides_password(url: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)


def test_schema_of_mysql_is_rejected() -> None:
    with pytest.raises(UsageError, match="have no schemas"):
        parse_address("mysql://host/hive", schema="meta")


def test_jdbc_url_gives_schema_and_user() -> None:
    address = parse_address("jdbc:postgresql://host/hive?currentSchema=meta&user=ann")
    assert (address.schema, address.user) == ("meta", "ann")


def test_password_has_no_readable_representation() -> None:
    password = Password("hunter2")
    address = parse_address("mysql://host/hive", user="ann", password=password)
    for text in (repr(password), str(password), f"{password}", repr(address), str(vars(address)), address.place):
        assert "hunter2" not in text
    with pytest.raises(TypeError):
        pickle.dumps(password)
    with pytest.raises(TypeError):
        copy.deepcopy(password)


def test_passwords_are_read_from_file_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    assert find_password(None) is None
    monkeypatch.setenv(PASSWORD_VARIABLE, "from here")
    password = find_password(None)
    assert password is not None and password.reveal() == "from here"
    (tmp_path / "secret").write_text("from a file\n")
    password = find_password(tmp_path / "secret")
    assert password is not None and password.reveal() == "from a file"
    with pytest.raises(UsageError, match="--password-file"):
        find_password(tmp_path / "none")
