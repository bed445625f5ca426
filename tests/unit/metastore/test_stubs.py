"""Corrections of the generated stubs, where Thrift's generator produces unusable code."""

from __future__ import annotations

from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from hive_views.metastore._thrift.hive_metastore.ttypes import SkewedInfo, StorageDescriptor, Table


@pytest.mark.parametrize("protocol", [TBinaryProtocol, TBinaryProtocolAccelerated])
def test_table_with_skewed_value_directories_is_readable(protocol: Any) -> None:
    """The map has lists as keys, which Python's dicts reject: one such table would make an answer unreadable."""
    places = {("1", "ü"): "file:/t/1", ("2", "b"): "file:/t/2"}
    table = Table(tableName="t", sd=StorageDescriptor(skewedInfo=SkewedInfo(["a", "b"], [["1", "ü"]], places)))
    written = TMemoryBuffer()
    table.write(protocol(written))
    read = Table()
    read.read(protocol(TMemoryBuffer(written.getvalue())))
    assert read == table
    again = TMemoryBuffer()
    read.write(protocol(again))
    assert again.getvalue() == written.getvalue()
