"""Whether lock-free commits are safe on a metastore: tried out, and remembered as long as connections to it last.

A server's methods tell Hive 3, which ignores what an alter expects, from Hive 4, which honors it. They do not tell Hive
2.3.10, which honors it, from earlier releases of 2.3, which do not (HIVE-26882). There it is tried out, on a temporary
row, before the first commit without a lock.
"""

from __future__ import annotations

from contextlib import nullcontext

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from hive_views.errors import MetastoreRefusedError
from hive_views.metastore.probes import TemporaryRow
from hive_views.metastore.transport.client import SWAPS, MetastoreClient

_ATTEMPTS = 5


def honors_expectations(client: MetastoreClient) -> bool:
    """Whether the server refuses an alter whose expectation does not hold (HIVE-26882), as far as its methods tell.

    Versions lie (facts: metastore.md): 4.x has alter_table_req, 2.3 has no catalogs; what has catalogs and no
    alter_table_req is a 3.x, which ignores expectations.
    """
    return client.supports("alter_table_req") or not client.supports("get_catalogs")


def swaps_are_safe(client: MetastoreClient, database: str) -> bool:
    """Whether the server that the next call goes to surely refuses an alter whose expectation does not hold.

    An alter that must not go to any other says so (`MetastoreClient.alter_table`, `tried`).
    """
    uri, known = client.server()
    if SWAPS not in known:
        with nullcontext(client) if len(client.uris) == 1 else client.alone(uri) as server:
            known[SWAPS] = _found_out(server, database)
    return known[SWAPS]


def _found_out(server: MetastoreClient, database: str) -> bool:
    if not honors_expectations(server):
        return False
    if server.supports("alter_table_req"):
        return True
    server.get_database(database)
    # Its database may be in a deadlock with others that try the same.
    return Retrying(
        retry=retry_if_exception_type(MetastoreRefusedError),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.1, max=2),
        reraise=True,
    )(_tried, server, database)


def _tried(client: MetastoreClient, database: str) -> bool:
    with TemporaryRow(client, database) as row:
        return not row.swap("never written", "1")
