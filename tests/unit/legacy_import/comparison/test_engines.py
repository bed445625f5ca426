"""Addresses of HiveServer2 and Trino."""

from __future__ import annotations

import pytest

from hive_views.errors import UsageError
from hive_views.legacy_import.comparison.engines import connect_hive, connect_trino

WRONG = {
    "thrift://host:10000": "is not of the form",
    "hive2://": "is not of the form",
    "hive2://host/database": "is not of the form",
    "hive2://host:port": "Port could not be cast",
    "hive2://me:secret@host": "HIVE_VIEWS_HIVE_PASSWORD",
    "hive2://host/?ssl=true": "it has the option ssl, which is none of auth_mechanism",
    "hive2://host/?use_ssl": "bad query field",
    "hive2://host/?hive.x=1&ssl=true": "it has the option ssl",
}


@pytest.mark.parametrize("address", WRONG)
def test_other_addresses_are_rejected(address: str) -> None:
    with pytest.raises(UsageError, match=WRONG[address]) as hive, connect_hive(address):
        pass
    with pytest.raises(UsageError) as trino, connect_trino(address.replace("hive2:", "trino:")):
        pass
    assert "secret" not in f"{hive.value}{trino.value}"
