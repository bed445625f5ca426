"""Sessions through SQLAlchemy: MySQL, MariaDB and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hive_views.errors import DatabaseError, UpgradeError, UsageError
from hive_views.schema_upgrade.address import PASSWORD_VARIABLE, Address
from hive_views.schema_upgrade.databases import Database
from hive_views.schema_upgrade.dialects.base import Dialect
from hive_views.schema_upgrade.dialects.mariadb import SQL_MODE
from hive_views.schema_upgrade.dialects.registry import dialect_of
from hive_views.schema_upgrade.session import Session, Values

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LOCK_TIMEOUT_S = 30
"""Seconds that a statement waits for a lock before it fails, so that other sessions do not queue behind it."""

CONNECT_TIMEOUT_S = 10

_LOCK = 0x68697665_76696577
"""The key of the advisory lock on PostgreSQL: `hiveview`."""


class SqlSession(Session):
    """A session through SQLAlchemy: MySQL, MariaDB, PostgreSQL."""

    _is_lost = False

    def __init__(self, address: Address) -> None:
        """Connect."""
        self.address = address
        try:
            self._engine = _engine(address)
        except ImportError as error:
            raise UsageError(
                "--url", f"{error.name} is missing, which connects to it: pip install 'hive_views[upgrade]'"
            ) from None
        self._connection: Connection = self._guard(None, self._engine.connect)
        version = str(self.query("SELECT VERSION()")[0][0])
        if address.kind == Database.POSTGRESQL:
            self.dialect: Dialect = dialect_of("postgresql")
            self.server = version.split(" on ")[0]
            if address.schema:
                self.execute(f"SET search_path TO {self.dialect.quote(address.schema)}")
            self.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")
            # Time limits set for a role or database would end a long step. Which settings exist depends on the version.
            self.query(
                "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('statement_timeout', "
                "'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')"
            )
            self._become_owner()
        else:
            maria = "mariadb" in version.lower()
            self.dialect = dialect_of("mariadb" if maria else "mysql")
            self.server = version if maria else f"MySQL {version}"
            self.execute(f"SET SESSION lock_wait_timeout = {LOCK_TIMEOUT_S}")
            self.execute(f"SET SESSION innodb_lock_wait_timeout = {LOCK_TIMEOUT_S}")
            self.execute(f"SET SESSION {'max_statement_time' if maria else 'max_execution_time'} = 0")
            self.execute("SET SESSION sql_safe_updates = 0")
            self.execute("SET SESSION group_concat_max_len = 67108864")
            self.execute(f"SET SESSION sql_mode = '{SQL_MODE}'")
        self.commit()

    def _become_owner(self) -> None:
        """Act as the owner of TBLS if the user may; otherwise the metastore could not use the new tables."""
        # From PostgreSQL 16 on, a member of a role may lack the right to act as it.
        right = "SET" if int(self.query("SHOW server_version_num")[0][0]) >= 160_000 else "MEMBER"
        owners = self.query(
            "SELECT pg_get_userbyid(c.relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = current_schema() AND c.relname = 'TBLS' AND pg_get_userbyid(c.relowner) <> current_user "
            f"AND pg_has_role(current_user, c.relowner, '{right}')"
        )
        if owners:
            self.execute(f"SET ROLE {self.dialect.quote(owners[0][0])}")

    def query(self, sql: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        from sqlalchemy import text

        return self._guard(  # type: ignore[no-any-return]
            sql, lambda: [tuple(row) for row in self._connection.execute(text(sql), dict(values or {})).all()]
        )

    def execute(self, sql: str, values: Values | None = None) -> int:
        from sqlalchemy import text

        def run() -> int:
            if values is None:
                # Passed on unchanged: a comment or a default in a statement may contain `:name` or `%`.
                return self._connection.execution_options(no_parameters=True).exec_driver_sql(sql).rowcount
            return self._connection.execute(text(sql), dict(values)).rowcount

        return int(self._guard(sql, run))

    def commit(self) -> None:
        self._guard(None, self._connection.commit)

    def rollback(self) -> None:
        self._guard(None, self._connection.rollback)

    def other_sessions(self) -> list[str]:
        """Descriptions of the other sessions on this database; without privileges only those of the same user."""
        if self.address.kind == Database.POSTGRESQL:
            rows = self.query(
                "SELECT COALESCE(usename, '?'), COALESCE(host(client_addr), 'local'), application_name "
                "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend' ORDER BY 1, 2, 3"
            )
        else:
            rows = self.query(
                "SELECT USER, HOST, COMMAND FROM INFORMATION_SCHEMA.PROCESSLIST "
                "WHERE DB = DATABASE() AND ID <> CONNECTION_ID() ORDER BY 1, 2, 3"
            )
        self.rollback()
        return [f"{user} from {host}" + (f" ({what})" if what else "") for user, host, what in rows]

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock out other upgrades and rollbacks of this database; the lock ends with the connection."""
        name = "CONCAT('hive_views upgrade ', LEFT(MD5(DATABASE()), 16))"
        take, release = {
            "postgresql": (f"SELECT pg_try_advisory_lock({_LOCK})", f"SELECT pg_advisory_unlock({_LOCK})"),
        }.get(self.dialect.name, (f"SELECT GET_LOCK({name}, 0)", f"SELECT RELEASE_LOCK({name})"))
        is_taken = self.query(take)[0][0]
        self.rollback()
        if not is_taken:
            raise UpgradeError(
                self.address.place, "another upgrade or rollback runs on this database: wait until it has finished"
            )
        try:
            yield
        finally:
            # If the connection is broken, the lock is released already.
            with suppress(DatabaseError):
                self.rollback()
                self.query(release)
                self.rollback()

    def close(self) -> None:
        """Roll back and close the connection."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            self._connection.close()
        except SQLAlchemyError:
            # A broken connection has nothing left to close.
            self._connection.invalidate()
        self._engine.dispose()

    def _guard(self, sql: str | None, work: Any) -> Any:
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        if self._is_lost:
            # SQLAlchemy would connect again, without the schema, the role, the SQL mode and the lock of this session.
            raise DatabaseError(self.address.place, "the connection was lost: connect again", statement=sql)
        try:
            return work()
        except DBAPIError as error:
            self._is_lost = error.connection_invalidated
            # Use the driver's message: SQLAlchemy's would include the values. PyMySQL puts a number before its message.
            message = str(error.orig.args[-1] if error.orig is not None and error.orig.args else error.orig)
        except SQLAlchemyError as error:
            message = str(error)
        except UnicodeDecodeError as error:
            # A PostgreSQL database with encoding SQL_ASCII holds arbitrary bytes.
            message = f"it holds bytes that are not UTF-8 ({error.reason} at byte {error.start})"
        reason = " ".join(self.address.password.hide_in(message).split())
        if not hasattr(self, "_connection") and not self.address.password.reveal():
            reason += f" (no password was given: set {PASSWORD_VARIABLE} or use --password-file)"
        raise DatabaseError(self.address.place, reason, statement=sql) from None


def _engine(address: Address) -> Engine:
    from sqlalchemy import URL, create_engine

    driver = {Database.MYSQL: "mysql+pymysql", Database.POSTGRESQL: "postgresql+psycopg"}[address.kind]
    arguments: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT_S}
    if address.kind == Database.MYSQL:
        arguments["charset"] = "utf8mb4"
    else:
        arguments["client_encoding"] = "utf8"
        arguments["application_name"] = "hive_views upgrade"
    return create_engine(
        URL.create(
            driver,
            username=address.user or None,
            password=address.password.reveal() or None,
            host=address.host,
            port=address.port,
            database=address.database,
        ),
        connect_args=arguments,
        hide_parameters=True,
        # Each statement must see the latest committed rows; no snapshot is held between statements.
        isolation_level="READ COMMITTED",
        pool_size=1,
        max_overflow=0,
    )
