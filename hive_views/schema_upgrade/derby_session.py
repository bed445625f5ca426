"""Sessions on Derby through JDBC: Py4J calls a JVM with the Derby of PySpark's jars (decision 0014).

The password is sent over Py4J's authenticated loopback socket and is not a command-line argument.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from hive_views.errors import DatabaseError
from hive_views.local_metastore.gateway import GatewayProcess, hidden
from hive_views.local_metastore.jvm import OLDEST_JAVA, find_jars, find_java
from hive_views.schema_upgrade.address import Address
from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.session import Session, Values

START_TIMEOUT_S = 60.0

JARS_VARIABLE = "HIVE_VIEWS_DERBY_JARS"
"""A directory whose derby*.jar replaces PySpark's, e.g. to keep the version of the metastore's own Derby."""

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")


@contextmanager
def derby_jvm(place: str, jars: Path | None = None) -> Iterator[Any]:
    """Start a JVM for Derby; yields Py4J's view of its classes."""
    spark = find_jars(place)
    own = jars or (Path(os.environ[JARS_VARIABLE]) if JARS_VARIABLE in os.environ else spark)
    jars_of_derby = sorted(own.glob("derby*.jar"))
    if not jars_of_derby:
        raise DatabaseError(place, f"{own.absolute()} has no derby*.jar; {JARS_VARIABLE} names a directory")
    path = os.pathsep.join(str(each) for each in [*jars_of_derby, *spark.glob("py4j-*.jar")])
    with tempfile.TemporaryDirectory(prefix="hive-views-derby-") as home:
        options = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dderby.locks.waitTimeout=30")
        process = GatewayProcess(
            [find_java(place), *options, f"-Dderby.stream.error.file={home}/derby.log", "-cp", path],
            stderr=subprocess.DEVNULL,
            cwd=home,
        )
        with ExitStack() as stack:
            stack.callback(process.stop)
            try:
                gateway = stack.enter_context(process.gateway(time.monotonic() + START_TIMEOUT_S))
            except (ConnectionError, TimeoutError):
                raise DatabaseError(place, f"the JVM for Derby does not start; Java {OLDEST_JAVA} is needed") from None
            yield gateway.jvm


class DerbySession(Session):
    """A session on an embedded Derby database, which only one process can open."""

    def __init__(self, address: Address, jvm: Any = None) -> None:
        """Open the database, in a JVM of `derby_jvm`; None starts one."""
        self.address = address
        self.dialect: Dialect = dialect_of("derby")
        if not (Path(address.database) / "service.properties").exists():
            raise DatabaseError(address.place, "there is no Derby database")
        self._own_jvm = ExitStack()
        self._jvm: Any = self._own_jvm.enter_context(derby_jvm(address.place)) if jvm is None else jvm
        self._connection: Any = None
        try:
            self._connection = self._connect()
            self._connection.setAutoCommit(False)
            self._connection.setTransactionIsolation(2)
            described = self._connection.getMetaData()
            self.server = "Derby " + str(described.getDatabaseProductVersion())
            described._detach()
            self.execute(f"SET SCHEMA {self.dialect.quote(address.schema or self._schema())}")
            self.commit()
        except BaseException:
            self.close()
            raise

    def query(self, sql: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        return self._run(sql, values, self._rows)  # type: ignore[no-any-return]

    def execute(self, sql: str, values: Values | None = None) -> int:
        return self._run(sql, values, lambda statement: int(statement.executeUpdate()))  # type: ignore[no-any-return]

    def commit(self) -> None:
        self._guard(None, self._connection.commit)

    def rollback(self) -> None:
        self._guard(None, self._connection.rollback)

    def other_sessions(self) -> list[str]:
        """None: only one process can open a Derby database."""
        return []

    def exclusive(self) -> nullcontext[None]:
        """Nothing to do: only one process can open a Derby database."""
        return nullcontext()

    def close(self) -> None:
        """Roll back and close the database, so that another process can open it."""
        from py4j.protocol import Py4JError

        try:
            if self._connection is not None:
                self._connection.rollback()
                self._connection.close()
                # A closed connection keeps the pages of its database in memory until it is detached.
                self._connection._detach()
                self._connection = None
                self.shut_down()
        except (Py4JError, OSError):
            # The JVM has ended, so nothing is left to close.
            self._connection = None
        finally:
            self._own_jvm.close()

    def _source(self) -> Any:
        source = self._jvm.org.apache.derby.jdbc.BasicEmbeddedDataSource40()
        # A property, because a path in a JDBC URL may contain attribute delimiters.
        source.setDatabaseName(self.address.database)
        source.setUser(self.address.user)
        password = self.address.password.reveal()
        with hidden(password):
            source.setPassword(password)
        return source

    def _connect(self) -> Any:
        source = self._source()
        try:
            return self._guard(None, source.getConnection)
        finally:
            source._detach()

    def shut_down(self) -> None:
        from py4j.protocol import Py4JJavaError

        source = self._source()
        source.setShutdownDatabase("shutdown")
        try:
            source.getConnection()
        except Py4JJavaError as error:
            # Derby reports an orderly shutdown as an error.
            if str(error.java_exception.getSQLState()) != "08006":
                raise
            error.java_exception._detach()
        finally:
            source._detach()

    def _schema(self) -> str:
        """Return the schema that contains TBLS: preferably the user's, which Hive's scripts use, or else APP."""
        schemas = {
            str(row[0])
            for row in self.query(
                "SELECT s.SCHEMANAME FROM SYS.SYSTABLES t JOIN SYS.SYSSCHEMAS s ON t.SCHEMAID = s.SCHEMAID "
                "WHERE t.TABLENAME = 'TBLS'"
            )
        }
        own = self.address.user.upper()
        return own if own in schemas or not schemas else "APP" if "APP" in schemas else sorted(schemas)[0]

    def _run(self, sql: str, values: Values | None, work: Any) -> Any:
        given = dict(values or {})
        names = _PARAMETER.findall(sql) if given else []

        def run_statement() -> Any:
            statement = self._connection.prepareStatement(_PARAMETER.sub("?", sql) if given else sql)
            try:
                for number, name in enumerate(names, 1):
                    self._set(statement, number, given[name])
                return work(statement)
            finally:
                statement.close()
                statement._detach()

        return self._guard(sql, run_statement)

    @staticmethod
    def _set(statement: Any, number: int, value: Any) -> None:
        if value is None:
            statement.setNull(number, 12)
        elif isinstance(value, int):
            statement.setLong(number, value)
        else:
            statement.setString(number, value)

    @staticmethod
    def _rows(statement: Any) -> list[tuple[Any, ...]]:
        results = statement.executeQuery()
        described = results.getMetaData()
        kinds = [str(described.getColumnTypeName(number + 1)) for number in range(described.getColumnCount())]
        rows: list[tuple[Any, ...]] = []
        while results.next():
            rows.append(tuple(_value(results, number + 1, kind) for number, kind in enumerate(kinds)))
        for opened in (described, results):
            opened._detach()
        return rows

    def _guard(self, sql: str | None, work: Any) -> Any:
        from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

        try:
            return work()
        except Py4JJavaError as error:
            chain: list[str] = []
            cause = error.java_exception
            while cause is not None and len(chain) < 5:
                chain.append(str(cause.getMessage()))
                cause = cause.getCause()
            message = " ".join(" / ".join(dict.fromkeys(chain)).split())
            if "Another instance of Derby may have already booted" in message:
                message = "another process has it open: stop the metastore first"
        except (Py4JNetworkError, OSError):
            message = "the JVM that ran Derby has ended; try again"
        except Py4JError as error:
            message = " ".join(str(error).split())
        raise DatabaseError(self.address.place, self.address.password.hide_in(message), statement=sql) from None


def _value(row: Any, number: int, kind: str) -> Any:
    if kind in ("BIGINT", "INTEGER", "SMALLINT"):
        value = row.getLong(number)
        return None if value == 0 and row.wasNull() else int(value)
    text = row.getString(number)
    return None if text is None else str(text)
