"""The capabilities of a metastore: support of compare-and-swap (CAS), and the results of probes on a temporary row.

The methods of a server distinguish Hive 3, which ignores the expected value in an `alter_table`, from Hive 4, which
checks it. They do not distinguish Hive 2.3.10, which checks it, from earlier releases of 2.3, which do not
(HIVE-26882). For 2.3, CAS is verified on a temporary row before the first commit without a lock, and the result is
remembered as long as the connections last.

The temporary row is a plain Hive view whose name has a reserved prefix. It is removed even if a probe fails.
"""

from __future__ import annotations

import copy
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import NamedTuple

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
from hive_views.metastore.rows.row import METADATA_LOCATION, VIRTUAL_VIEW
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
"""The prefix of the name of a temporary row; hexadecimal digits follow."""

TEMPORARY_ROW_MARK = "hive_views_doctor"
"""A parameter of each temporary row with the row's name."""

_REMOVAL_PAUSES = (0.0, 0.2, 1.0, 3.0)
_INITIAL_VALUE = "0"
"""The initial value of the parameter that CAS probes change."""

_CAS_ATTEMPTS = 5


def honors_cas(client: MetastoreClient) -> bool:
    """Return whether the server rejects an alter with a wrong expected value (HIVE-26882), judged by its methods.

    Version strings are unreliable (2.3 and 3.1 both return `3.0`). 4.x has alter_table_req and 2.3 has no catalogs; a
    server with catalogs but without alter_table_req is a 3.x, which ignores the expected value.
    """
    return client.supports("alter_table_req") or not client.supports("get_catalogs")


def is_cas_verified(client: MetastoreClient, database: str) -> bool:
    """Return whether the server of the next call certainly rejects an alter with a wrong expected value.

    `MetastoreClient.alter_table` with `only_verified_cas` sends an alter only to servers for which this is true.
    """
    uri, capabilities = client.current_server()
    if CAS_VERIFIED not in capabilities:
        with nullcontext(client) if len(client.uris) == 1 else client.for_server(uri) as server:
            capabilities[CAS_VERIFIED] = _verify_cas(server, database)
    return capabilities[CAS_VERIFIED]


def _verify_cas(server: MetastoreClient, database: str) -> bool:
    if not honors_cas(server):
        return False
    if server.supports("alter_table_req"):
        return True
    server.get_database(database)
    # Concurrent verifications may deadlock in the metastore's database.
    return Retrying(
        retry=retry_if_exception_type(MetastoreRefusedError),
        stop=stop_after_attempt(_CAS_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.1, max=2),
        reraise=True,
    )(_rejects_wrong_expectation, server, database)


def _rejects_wrong_expectation(client: MetastoreClient, database: str) -> bool:
    with TemporaryRow(client, database) as row:
        return not row.compare_and_swap("never written", "1")


class RowContent(NamedTuple):
    """The parts of a row that a metastore's database may truncate or damage."""

    text: str = "SELECT 1 AS n"
    """Both view texts."""
    parameter: str = ""
    """The value of a parameter."""
    comment: str = ""
    """The comment of a column."""


class LockProbe(NamedTuple):
    """The result of acquiring and releasing a lock."""

    was_listed: bool
    """Whether the server listed it while it was held."""
    is_gone: bool
    """Whether the server no longer listed it afterwards."""
    milliseconds: float
    """How long acquiring and releasing took."""


class TemporaryRow:
    """A row that exists for the body of a `with` statement."""

    def __init__(self, client: MetastoreClient, database: str) -> None:
        """Choose a name; the row is created on entering."""
        self._client = client
        self.name = ViewName(database, f"{TEMPORARY_ROW_PREFIX}{uuid.uuid4().hex[:16]}")
        """The row's name."""
        self.clock: tuple[float, int, float] | None = None
        """Seconds since the epoch: local time before the creation, creation time by the server's clock, local time
        after the creation. None if the server stores the time in the request instead of its own time."""
        self._may_exist = False

    def __enter__(self) -> TemporaryRow:
        """Create the row."""
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
                METADATA_LOCATION: _INITIAL_VALUE,
            },
            viewOriginalText=RowContent().text,
            viewExpandedText=RowContent().text,
            tableType=VIRTUAL_VIEW,
        )
        self._may_exist = True
        try:
            before = time.time()
            try:
                with _converted_errors("create_table"):
                    self._client.create_table(table)
            except (MetastoreRefusedError, MetastoreUnavailableError):
                self._may_exist = False
                raise
            after = time.time()
            stored = self._read().createTime
        except BaseException:
            self._remove_finally()
            raise
        # If the server stored the requested time 1, its clock is unknown.
        self.clock = None if stored in (None, 1) else (before, stored, after)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the row."""
        self._remove_finally()

    def compare_and_swap(self, expected: str, value: str) -> bool:
        """Change a parameter if it has the expected value, as commits do; return whether it was changed."""
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

    def write_content(self, content: RowContent) -> tuple[str, ...]:
        """Write texts into the temporary row, read them back, and return the names of the parts that differ."""
        table = self._read()
        table.viewOriginalText = table.viewExpandedText = content.text
        table.parameters["hive_views_doctor_value"] = content.parameter
        table.sd.cols[0].comment = content.comment
        with _converted_errors("alter_table"):
            self._client.alter_table(*self.name.identifier, table, {})
        stored = self._read()
        is_intact = {
            "text": (stored.viewOriginalText, stored.viewExpandedText) == (content.text, content.text),
            "parameter": (stored.parameters.get("hive_views_doctor_value") or "") == content.parameter,
            "comment": (stored.sd.cols[0].comment or "") == content.comment,
        }
        return tuple(name for name, intact in is_intact.items() if not intact)

    def is_view(self) -> bool:
        """Return whether the row still is the created view."""
        table = self._read()
        return str(table.tableType) == VIRTUAL_VIEW and table.parameters.get(TEMPORARY_ROW_MARK) == self.name.name

    def is_found_by(self, operator: str) -> bool:
        """Return whether the server's filter on parameters finds the row by an operator."""
        names = self._client.get_table_names_by_filter(
            self.name.database, f'{FILTER_FIELD}{TEMPORARY_ROW_MARK} {operator} "{self.name.name}"'
        )
        return self.name.name in names

    def find_other_names(self) -> list[str]:
        """Return the names of other temporary rows in the database, of concurrent or killed runs."""
        names = self._client.get_table_names_by_type(self.name.database, VIRTUAL_VIEW)
        return sorted(name for name in names if name.startswith(TEMPORARY_ROW_PREFIX) and name != self.name.name)

    def probe_lock(self, config: LockConfig) -> LockProbe:
        """Acquire the lock on the row, check that the server lists it, and release it."""
        started = time.monotonic()
        lock = acquire_lock(self._client, config, self.name)
        try:
            seconds = time.monotonic() - started
            was_listed = lock.is_listed()
        finally:
            release_started = time.monotonic()
            lock.release()
            seconds += time.monotonic() - release_started
        return LockProbe(was_listed, not lock.is_listed(), seconds * 1000)

    def _read(self) -> Table:
        table = self._client.get_table(*self.name.identifier)
        if table is None:
            raise MetastoreRefusedError("get_table", f"{self.name} is gone: another client dropped it")
        return copy.deepcopy(table)

    def _remove_finally(self) -> None:
        try:
            self._remove()
        except MetastoreError:
            raise
        except BaseException:
            # After an interruption, try once more to remove the row, then propagate the interruption.
            self._remove()
            raise

    def _remove(self) -> None:
        """Remove the row if it may exist, with retries."""
        if not self._may_exist:
            return
        problem: MetastoreError | None = None
        for pause in _REMOVAL_PAUSES:
            time.sleep(pause)
            try:
                with _converted_errors("drop_table"):
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
    """The row does not exist."""


@contextmanager
def _converted_errors(method: str) -> Iterator[None]:
    """Convert errors declared by the server to errors of this package."""
    try:
        yield
    except NoSuchObjectException as error:
        if method == "drop_table":
            raise _GoneError from error
        raise MetastoreRefusedError(method, str(error.message)) from error
    except TException as error:
        raise MetastoreRefusedError(method, str(getattr(error, "message", None) or error)) from error


def try_connection(config: ConnectionConfig) -> None:
    """Connect to the first configured metastore, authenticate, and close the connection."""
    Connection.open(config.uris[0], config._replace(user=None)).close()


def elapsed_ms(call: Callable[[], object]) -> float:
    """Make a call and return how many milliseconds it took."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000
