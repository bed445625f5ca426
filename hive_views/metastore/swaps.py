"""Whether lock-free commits are safe on a metastore: tried out once, and remembered by server.

A server's methods tell Hive 3, which ignores what an alter expects, from Hive 4, which honors it. They do not tell Hive
2.3.10, which honors it, from earlier releases of 2.3, which do not (HIVE-26882). There it is tried out, on a temporary
row, before the first commit without a lock.
"""

from __future__ import annotations

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from hive_views.errors import MetastoreRefusedError
from hive_views.metastore.client import MetastoreClient

_known: dict[frozenset[str], bool] = {}
"""What was found, by the URIs of the metastores: they serve the same data, and any of them may get a commit."""

_ATTEMPTS = 5


def honors_expectations(client: MetastoreClient) -> bool:
    """Whether the server refuses an alter whose expectation does not hold (HIVE-26882), as far as its methods tell.

    Versions lie (facts: metastore.md): 4.x has alter_table_req, 2.3 has no catalogs; what has catalogs and no
    alter_table_req is a 3.x, which ignores expectations.

    Args:
        client: The metastore.

    Returns:
        True where compare-and-swap can be trusted; on Hive 2 that is so from 2.3.10 on.

    Raises:
        MetastoreUnavailableError: If no metastore can be reached.
    """
    return client.supports("alter_table_req") or not client.supports("get_catalogs")


def swaps_are_safe(client: MetastoreClient, database: str) -> bool:
    """Whether the server surely refuses an alter whose expectation does not hold.

    Args:
        client: The metastore.
        database: Where a temporary row may be made; it is gone again afterwards.

    Returns:
        The answer; from memory, where this process has it.

    Raises:
        NoSuchNamespaceError: If there is no such database.
        MetastoreError: If it cannot be tried out; nothing is remembered then.
    """
    if not honors_expectations(client):
        return False
    if client.supports("alter_table_req"):
        return True
    key = frozenset(client.uris)
    if key not in _known:
        client.get_database(database)
        # Its database may be in a deadlock with others that try the same.
        _known[key] = Retrying(
            retry=retry_if_exception_type(MetastoreRefusedError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.1, max=2),
            reraise=True,
        )(_tried, client, database)
    return _known[key]


def _tried(client: MetastoreClient, database: str) -> bool:
    from hive_views.metastore.probes import TemporaryRow  # imports the commit, which imports this

    with TemporaryRow(client, database) as row:
        return not row.swap("never written", "1")
