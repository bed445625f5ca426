"""The metastore's rows of one look at a materialized view: each is asked for in it, several of them at once.

A row costs the server a dozen queries of its database, one after the other. What a view read at the last look is likely
what it reads now, so all of these rows are asked for at once, over some connections; the walk then finds them there.
Nothing is taken from an earlier look: a row that is used was asked for in this one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from hive_views.identifiers import ViewName
from hive_views.metastore.queries import read_database_rows
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import BATCH_SIZE

AT_ONCE = 3
"""Requests that are under way at once, at most. A fourth was no faster (measured on two cores, 27 rows)."""

_WORTH_ONE = 4
"""Rows for which another request is worth its thread and its connection."""


class Rows:
    """Rows as they were when they were first asked for, in one look. For one thread."""

    def __init__(self, store: MetastoreStore, expected: Collection[ViewName] = ()) -> None:
        """Ask for the rows that are expected to be wanted."""
        self._store = store
        self._known: dict[ViewName, Row | None] = {}
        self._used: set[ViewName] = set()
        self._ask(expected)

    @property
    def known(self) -> Mapping[ViewName, Row | None]:
        """What was asked for up to now; None for a name under which nothing stands."""
        return self._known

    @property
    def used(self) -> frozenset[ViewName]:
        """The names that were wanted up to now, expected or not."""
        return frozenset(self._used)

    def shared(self) -> Rows:
        """The same rows for a look at another view: what the one asks for, the other need not."""
        other = Rows(self._store)
        other._known = self._known
        return other

    def one(self, name: ViewName) -> Row | None:
        """The row under a name; None for nothing."""
        self._used.add(name)
        if name not in self._known:
            self._known[name] = self._store.get_row(name)
        return self._known[name]

    def several(self, names: Iterable[ViewName]) -> Mapping[ViewName, Row | None]:
        """The rows under some names."""
        wanted = tuple(names)
        self._used.update(wanted)
        self._ask(wanted)
        return self._known

    def _ask(self, names: Collection[ViewName]) -> None:
        wanted = [name for name in dict.fromkeys(names) if name not in self._known]
        if len(wanted) == 1:
            self._known[wanted[0]] = self._store.get_row(wanted[0])
        elif wanted:
            batches = _batches(wanted, self._most)
            if min(len(batches), self._most) == 1:
                found = [read_database_rows(self._store, *batch) for batch in batches]
            else:
                found = self._at_once(batches)
            self._known.update(dict.fromkeys(wanted))
            self._known.update((row.name, row) for rows in found for row in rows)

    @property
    def _most(self) -> int:
        """Requests at once: no more than the pool keeps connections, the others would be connected anew each time."""
        return min(AT_ONCE, self._store.config.connection.pool_size)

    def _at_once(self, batches: list[tuple[str, list[str]]]) -> list[list[Row]]:
        # Threads for this once: those of a pool that is kept would be gone after a fork.
        with ThreadPoolExecutor(min(len(batches), self._most) - 1) as pool:
            others = [pool.submit(read_database_rows, self._store, *batch) for batch in batches[1:]]
            return [read_database_rows(self._store, *batches[0]), *(other.result() for other in others)]


def _batches(names: list[ViewName], most: int) -> list[tuple[str, list[str]]]:
    """Names by database, in requests of about the same size."""
    requests = max(1, min(most, len(names) // _WORTH_ONE))
    size = min(BATCH_SIZE, -(-len(names) // requests))
    by_database: dict[str, list[str]] = {}
    for name in names:
        by_database.setdefault(name.database, []).append(name.name)
    return [
        (database, found[start : start + size])
        for database, found in by_database.items()
        for start in range(0, len(found), size)
    ]
