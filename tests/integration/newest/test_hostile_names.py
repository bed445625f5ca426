"""Names that Hive 4 accepts from other programs and a shell would execute."""

from __future__ import annotations

import shlex

import pytest

from hive_views import HiveViewCatalog
from hive_views.doctor.environment import check_views
from hive_views.errors import NotAnIcebergViewError
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from tests.integration.catalog.samples import SCHEMA, hive_row

HOSTILE = "$(id);`"


def test_suggested_commands_quote_names(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    catalog.create_table((database, "t"), SCHEMA)
    catalog.execute("CREATE VIEW v AS SELECT * FROM t", database=database)
    catalog.drop_table((database, "t"))
    row = raw.get_table(database, "v")
    row.tableName = HOSTILE
    raw.alter_table_with_environment_context(database, "v", row, EnvironmentContext({}))
    raw.create_table(hive_row(database, f"{HOSTILE}2", "VIRTUAL_VIEW"))

    advice = next(finding.advice for finding in check_views(catalog, database) if finding.subject.endswith(HOSTILE))
    with pytest.raises(NotAnIcebergViewError) as caught:
        catalog.load_view((database, f"{HOSTILE}2"))
    for text, name in ((advice or "", HOSTILE), (str(caught.value), f"{HOSTILE}2")):
        quoted = shlex.quote(f"{database}.{name}")
        assert quoted != f"{database}.{name}"
        assert f" {quoted}" in text
