"""What a metastore really does, tried out on a temporary row of our own: for `hive_views.doctor`.

The row is a plain Hive view of a name that is clearly ours. Whoever makes one removes it again, however the tries end.
"""

from __future__ import annotations

import copy
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from types import TracebackType

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential
from thrift.Thrift import TException

from hive_views.config import ConnectionConfig, LockConfig
from hive_views.errors import MetastoreError, MetastoreRefusedError, MetastoreUnavailableError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    FieldSchema,
    MetaException,
    NoSuchObjectException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from hive_views.metastore.locking.lock import acquire_lock
from hive_views.metastore.queries import FILTER_FIELD
from hive_views.metastore.row_codec import METADATA_LOCATION, VIRTUAL_VIEW
from hive_views.metastore.store import CAS_REJECTED
from hive_views.metastore.transport.client import (
    CAS_VERIFIED,
    EXPECTED_PARAMETER_KEY,
    EXPECTED_PARAMETER_VALUE,
    MetastoreClient,
)
from hive_views.metastore.transport.connection import Connection

logger = logging.getLogger(__name__)

TEMPORARY_ROW_PREFIX = "hive_views_doctor_"
"""How the name of a temporary row begins; letters and digits follow."""

TEMPORARY_ROW_MARK = "hive_views_doctor"
"""A parameter of each temporary row: its name."""

_REMOVAL_PAUSES = (0.0, 0.2, 1.0, 3.0)
_BEGINNING = "0"
"""The first value of the parameter that is swapped."""


@dataclass(frozen=True)
class RowContent:
    """The parts of a row that a metastore's database may cut or damage."""

    text: str = "SELECT 1 AS n"
    """Both view texts."""
    parameter: str = ""
    """The value of a parameter."""
    comment: str = ""
    """The comment of a column."""


@dataclass(frozen=True)
class LockProbe:
    """A lock that was taken and given back."""

    shown: bool
    """Whether the server listed it while it was held."""
    gone: bool
    """Whether the server no longer listed it afterwards."""
    milliseconds: float
    """How long taking and giving back took."""


class TemporaryRow:
    """A row that is there for the body of a `with` statement."""

    def __init__(self, client: MetastoreClient, database: str) -> None:
        """Choose a name; nothing is created yet."""
        self._client = client
        self.name = ViewName(database, f"{TEMPORARY_ROW_PREFIX}{uuid.uuid4().hex[:16]}")
        """Its name."""
        self.clock: tuple[float, int, float] | None = None
        """Seconds from the epoch: our clock before it was created, what the server's clock said, our clock afterwards.
        None where the server keeps the time that it is given."""
        self._may_exist = False

    def __enter__(self) -> TemporaryRow:
        """Create it."""
        table = Table(
            tableName=self.name.name,
            dbName=self.name.database,
            owner="hive-views doctor",
            createTime=1,
            lastAccessTime=0,
            retention=0,
            sd=StorageDescriptor(
                cols=[FieldSchema(name="n", type="int", comment="")],
                inputFormat="org.apache.hadoop.mapred.TextInputFormat",
                outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
                compressed=False,
                numBuckets=0,
                serdeInfo=SerDeInfo(parameters={}),
                bucketCols=[],
                sortCols=[],
                parameters={},
            ),
            partitionKeys=[],
            parameters={
                "comment": "A temporary row of `hive-views doctor`; it may be dropped",
                TEMPORARY_ROW_MARK: self.name.name,
                METADATA_LOCATION: _BEGINNING,
            },
            viewOriginalText=RowContent().text,
            viewExpandedText=RowContent().text,
            tableType=VIRTUAL_VIEW,
        )
        self._may_exist = True
        try:
            before = time.time()
            try:
                with _answered("create_table"):
                    self._client.create_table(table)
            except (MetastoreRefusedError, MetastoreUnavailableError):
                self._may_exist = False
                raise
            after = time.time()
            stored = self._read().createTime
        except BaseException:
            self._surely_remove()
            raise
        # A server that keeps our 1 does not show its clock.
        self.clock = None if stored in (None, 1) else (before, stored, after)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove it."""
        self._surely_remove()

    def swap(self, expected: str, value: str) -> bool:
        """Change the swapped parameter, if it has the expected value: a compare-and-swap as commits send it."""
        table = self._read()
        table.parameters[METADATA_LOCATION] = value
        try:
            self._client.alter_table(
                *self.name.identifier,
                table,
                {EXPECTED_PARAMETER_KEY: METADATA_LOCATION, EXPECTED_PARAMETER_VALUE: expected},
            )
        except MetaException as error:
            if str(error.message).startswith(CAS_REJECTED):
                return False
            raise MetastoreRefusedError("alter_table", str(error.message)) from error
        except TException as error:
            raise MetastoreRefusedError("alter_table", str(error)) from error
        return str(self._read().parameters[METADATA_LOCATION]) == value

    def store(self, content: RowContent) -> tuple[str, ...]:
        """Write a content and read it back."""
        table = self._read()
        table.viewOriginalText = table.viewExpandedText = content.text
        table.parameters["hive_views_doctor_value"] = content.parameter
        table.sd.cols[0].comment = content.comment
        with _answered("alter_table"):
            self._client.alter_table(*self.name.identifier, table, {})
        stored = self._read()
        found = {
            "text": (stored.viewOriginalText, stored.viewExpandedText) == (content.text, content.text),
            "parameter": (stored.parameters.get("hive_views_doctor_value") or "") == content.parameter,
            "comment": (stored.sd.cols[0].comment or "") == content.comment,
        }
        return tuple(name for name, same in found.items() if not same)

    def is_view(self) -> bool:
        """Whether the server still takes it for the view that was created."""
        table = self._read()
        return str(table.tableType) == VIRTUAL_VIEW and table.parameters.get(TEMPORARY_ROW_MARK) == self.name.name

    def found_by(self, operator: str) -> bool:
        """Whether the server's filter on parameters finds it."""
        with _answered("get_table_names_by_filter"):
            names = self._client.get_table_names_by_filter(
                self.name.database, f'{FILTER_FIELD}{TEMPORARY_ROW_MARK} {operator} "{self.name.name}"'
            )
        return self.name.name in names

    def others(self) -> list[str]:
        """Names of other temporary rows in the database: of a run at the same time, or of one that was killed."""
        with _answered("get_tables_by_type"):
            names = self._client.get_table_names_by_type(self.name.database, VIRTUAL_VIEW)
        return sorted(name for name in names if name.startswith(TEMPORARY_ROW_PREFIX) and name != self.name.name)

    def lock(self, config: LockConfig) -> LockProbe:
        """Take the lock on it, look at it, and give it back."""
        started = time.monotonic()
        held = acquire_lock(self._client, config, self.name)
        try:
            took = time.monotonic() - started
            shown = self._is_listed(held.lock_id)
        finally:
            released = time.monotonic()
            held.release()
            took += time.monotonic() - released
        return LockProbe(shown, not self._is_listed(held.lock_id), took * 1000)

    def _is_listed(self, lock_id: int) -> bool:
        return any(lock.lockid == lock_id for lock in self._client.show_locks(*self.name.identifier))

    def _read(self) -> Table:
        with _answered("get_table"):
            table = self._client.get_table(*self.name.identifier)
        if table is None:
            raise MetastoreRefusedError("get_table", f"{self.name} is gone: somebody else dropped it")
        return copy.deepcopy(table)

    def _surely_remove(self) -> None:
        try:
            self._remove()
        except MetastoreError:
            raise
        except BaseException:
            # Interrupted meanwhile: once more, then the interruption goes on.
            self._remove()
            raise

    def _remove(self) -> None:
        """Remove the row where it may be there; tries again while nobody answers."""
        if not self._may_exist:
            return
        problem: MetastoreError | None = None
        for pause in _REMOVAL_PAUSES:
            time.sleep(pause)
            try:
                with _answered("drop_table"):
                    self._client.drop_table(*self.name.identifier)
            except _GoneError:
                pass
            except MetastoreError as error:
                problem = error
                continue
            self._may_exist = False
            return
        assert problem is not None
        logger.warning("The temporary row %s could not be removed; drop it: %s", self.name, problem)
        raise problem


class _GoneError(Exception):
    """There is no such row."""


@contextmanager
def _answered(method: str) -> Iterator[None]:
    """Make one of our errors of what the server declares."""
    try:
        yield
    except NoSuchObjectException as error:
        if method == "drop_table":
            raise _GoneError from error
        raise MetastoreRefusedError(method, str(error.message)) from error
    except TException as error:
        raise MetastoreRefusedError(method, str(getattr(error, "message", None) or error)) from error


def try_connection(config: ConnectionConfig) -> None:
    """Connect to a metastore, tell it who we are, and hang up."""
    Connection.open(config.uris[0], replace(config, user=None)).close()


def elapsed_ms(call: Callable[[], object]) -> float:
    """Make a call."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


_ATTEMPTS = 5


def honors_cas(client: MetastoreClient) -> bool:
    """Whether the server refuses an alter whose expectation does not hold (HIVE-26882), as far as its methods tell.

    Versions lie (facts: metastore.md): 4.x has alter_table_req, 2.3 has no catalogs; what has catalogs and no
    alter_table_req is a 3.x, which ignores expectations.
    """
    return client.supports("alter_table_req") or not client.supports("get_catalogs")


def is_cas_verified(client: MetastoreClient, database: str) -> bool:
    """Whether the server that the next call goes to surely refuses an alter whose expectation does not hold.

    An alter that must not go to any other says so (`MetastoreClient.alter_table`, `tried`).
    """
    uri, known = client.server()
    if CAS_VERIFIED not in known:
        with nullcontext(client) if len(client.uris) == 1 else client.alone(uri) as server:
            known[CAS_VERIFIED] = _found_out(server, database)
    return known[CAS_VERIFIED]


def _found_out(server: MetastoreClient, database: str) -> bool:
    if not honors_cas(server):
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
