"""Which Thrift methods a metastore knows, determined by calling them: its version string is unreliable.

For a call that exists in several variants the first variant that the server knows is used. Unknown variants are
remembered with the connections to the server (`Connection.capabilities`). If none is left, because the metastore was
replaced by another version, all variants are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from thrift.Thrift import TApplicationException, TException

from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.metastore.transport.connection import Connection

if TYPE_CHECKING:
    from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client

T = TypeVar("T")


class UnknownMethodError(Exception):
    """The server knows no variant of a call."""


def supports_method(connection: Connection, method: str) -> bool:
    """Return whether a server knows a method, from an earlier call or by a call without effect."""
    call = _PROBES.get(method)
    if call is None:
        raise ValueError(f"{method} cannot be probed without an effect; choose one of {', '.join(sorted(_PROBES))}")
    answer = connection.capabilities.get(method)
    if answer is None:
        try:
            call(connection.client)
        except TApplicationException as error:
            answer = connection.capabilities[method] = error.type != TApplicationException.UNKNOWN_METHOD
            if answer:
                raise
        except TException:
            connection.capabilities[method] = True
            raise
        else:
            answer = connection.capabilities[method] = True
    return answer


def call_first_supported(
    connection: Connection, variants: Mapping[str, Callable[..., T]], arguments: tuple[Any, ...]
) -> T:
    """Call the first variant that the server knows; a call of an unknown method has no effect."""
    skipped = False
    for method, invoke in variants.items():
        if connection.capabilities.get(method) is False:
            skipped = True
            continue
        try:
            return invoke(connection.client, *arguments)
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise
            connection.capabilities[method] = False
    if skipped:
        for method in variants:
            connection.capabilities.pop(method, None)
        return call_first_supported(connection, variants, arguments)
    raise UnknownMethodError(
        f"the server knows none of {', '.join(variants)}; is it a Hive Metastore of version 2.3 or later?"
    )


# Reads of missing objects, and requests without required fields, which the server rejects before it executes them.
_PROBES: dict[str, Callable[[Client], object]] = {
    "get_catalogs": lambda client: client.get_catalogs(),
    "get_current_notificationEventId": lambda client: client.get_current_notificationEventId(),
    "get_table": lambda client: client.get_table("", ""),
    "get_table_req": lambda client: client.get_table_req(ttypes.GetTableRequest()),
    "get_table_objects_by_name_req": lambda client: client.get_table_objects_by_name_req(ttypes.GetTablesRequest()),
    "get_tables_by_type": lambda client: client.get_tables_by_type("default", "-", "-"),
    "get_table_meta": lambda client: client.get_table_meta("-", "-", []),
    "get_table_names_by_filter": lambda client: client.get_table_names_by_filter("", "", 0),
    "alter_table_req": lambda client: client.alter_table_req(ttypes.AlterTableRequest()),
    "drop_table_req": lambda client: client.drop_table_req(ttypes.DropTableRequest()),
    "lock": lambda client: client.lock(ttypes.LockRequest()),
    "show_locks": lambda client: client.show_locks(ttypes.ShowLocksRequest()),
}
