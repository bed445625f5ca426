"""The minimum cost: the Thrift calls that an operation needs, sent with the generated client on one connection."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client

CONTEXT = {"DO_NOT_UPDATE_STATS": "true", "expected_parameter_key": "metadata_location"}


class RawMetastore:
    """A connection, and the sequences of calls that create, replace, rename, drop and load need."""

    def __init__(self, port: int) -> None:
        self._transport = TBufferedTransport(TSocket("127.0.0.1", port))
        self._transport.open()
        self.client = Client(TBinaryProtocolAccelerated(self._transport))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def get(self, database: str, name: str) -> ttypes.Table:
        """Read a row."""
        return self.client.get_table_req(ttypes.GetTableRequest(dbName=database, tblName=name)).table

    def lock(self, database: str, *names: str, source: str | None = None) -> int:
        """Acquire the exclusive lock on the names, and a shared one on a source; returns its ID."""
        types = dict.fromkeys(names, ttypes.LockType.EXCLUSIVE)
        if source is not None:
            types[source] = ttypes.LockType.SHARED_READ
        components = [
            ttypes.LockComponent(
                type=kind,
                level=ttypes.LockLevel.TABLE,
                dbname=database,
                tablename=locked,
                operationType=ttypes.DataOperationType.NO_TXN,
            )
            for locked, kind in types.items()
        ]
        request = ttypes.LockRequest(component=components, user="bench", hostname=socket.gethostname())
        return self.client.lock(request).lockid

    def unlock(self, lock_id: int) -> None:
        """Release the lock."""
        self.client.unlock(ttypes.UnlockRequest(lockid=lock_id))

    def create(self, table: ttypes.Table, source: str) -> None:
        """The calls that create a view over a table, which must still exist under the lock."""
        self.client.get_database(table.dbName)
        lock_id = self.lock(table.dbName, table.tableName, source=source)
        self.get(table.dbName, source)
        try:
            self.get(table.dbName, table.tableName)
        except ttypes.NoSuchObjectException:
            self.client.create_table(table)
        self.unlock(lock_id)

    def swap(self, table: ttypes.Table, location: str, source: str | None = None) -> None:
        """The calls that replace a view; its table must still exist under the lock."""
        lock_id = self.lock(table.dbName, table.tableName, source=source)
        if source is not None:
            self.get(table.dbName, source)
        current = self.get(table.dbName, table.tableName)
        expected = current.parameters["metadata_location"]
        current.parameters = {**current.parameters, "metadata_location": location}
        context = ttypes.EnvironmentContext({**CONTEXT, "expected_parameter_value": expected})
        self.client.alter_table_with_environment_context(table.dbName, table.tableName, current, context)
        self.unlock(lock_id)

    def convert(self, table: ttypes.Table) -> None:
        """The calls that replace a legacy view by a row with all its columns, texts and parameters."""
        lock_id = self.lock(table.dbName, table.tableName)
        current = self.get(table.dbName, table.tableName)
        context = {
            "DO_NOT_UPDATE_STATS": "true",
            "expected_parameter_key": "transient_lastDdlTime",
            "expected_parameter_value": current.parameters["transient_lastDdlTime"],
        }
        self.client.alter_table_with_environment_context(
            table.dbName, table.tableName, table, ttypes.EnvironmentContext(context)
        )
        self.unlock(lock_id)

    def rename(self, database: str, name: str, target: str, source: str) -> None:
        """The calls that rename a view, if what it reads is known; its table must still exist under the lock."""
        lock_id = self.lock(database, name, target, source=source)
        self.get(database, source)
        row = self.get(database, name)
        try:
            self.get(database, target)
        except ttypes.NoSuchObjectException:
            row.tableName = target
            expected = row.parameters["metadata_location"]
            context = ttypes.EnvironmentContext({**CONTEXT, "expected_parameter_value": expected})
            self.client.alter_table_with_environment_context(database, name, row, context)
        self.unlock(lock_id)

    def drop(self, database: str, name: str) -> None:
        """The calls that drop a view."""
        lock_id = self.lock(database, name)
        self.get(database, name)
        self.client.drop_table(database, name, False)
        self.unlock(lock_id)


def write_file(path: Path, data: bytes) -> None:
    """Write a file to a local disk, and sync the file and its directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for target in (path, path.parent):
        if target is path:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            os.write(descriptor, data)
        else:
            descriptor = os.open(target, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
