"""Start states on each kind of database, created once and copied for each test."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hive_views.schema_upgrade import Address, Password, Session, connect, parse_address
from hive_views.schema_upgrade.derby_session import DerbySession
from tests.integration.schema_upgrade.servers import PASSWORD, Server
from tests.integration.schema_upgrade.states import OLD, VARIANTS, hive_scripts, insert_rows, old_schema

_numbers = itertools.count(1)


class Databases(Protocol):
    """Databases of one kind."""

    @property
    def dialect(self) -> str: ...

    def copy(self, state: str) -> Address:
        """A new database in a start state."""
        ...

    def open(self, address: Address) -> Session: ...

    def run_script(self, address: Address, text: str) -> str:
        """Run a script with the client of the database; returns its output."""
        ...


@dataclass
class SqlDatabases:
    """Databases of a server of MariaDB or PostgreSQL."""

    server: Server
    templates: dict[str, str] = field(default_factory=dict)
    """PostgreSQL template or MariaDB dump by start state."""

    @property
    def dialect(self) -> str:
        return "postgresql" if self.server.kind == "postgresql" else "mariadb"

    def address(self, database: str) -> Address:
        return parse_address(self.server.url(database), user="hive", password=Password(PASSWORD))

    def copy(self, state: str) -> Address:
        name = f"s{next(_numbers)}"
        if self.server.kind == "postgresql":
            if state not in self.templates:
                template = f"t{next(_numbers)}"
                self._create(template, state)
                self.templates[state] = template
            self.server.run(f'CREATE DATABASE "{name}" TEMPLATE "{self.templates[state]}"')
            return self.address(name)
        if state not in self.templates:
            template = self._create(f"t{next(_numbers)}", state).database
            self.templates[state] = self.server.dump(template)
            self.server.drop(template)
        self.server.create(name)
        self.server.run(self.templates[state], name)
        return self.address(name)

    def empty(self) -> Address:
        name = f"e{next(_numbers)}"
        self.server.create(name)
        return self.address(name)

    def _create(self, name: str, state: str) -> Address:
        self.server.create(name)
        state, changes = VARIANTS.get(state, (state, {}))
        if state in OLD:
            self.server.run(";\n".join(old_schema(self.dialect, state)) + ";", name)
        else:
            for text in hive_scripts(self.dialect, state):
                self.run_script(self.address(name), text)
        with self.open(self.address(name)) as session:
            insert_rows(session)
        if changes:
            self.server.run(changes[self.dialect], name)
        return self.address(name)

    def open(self, address: Address) -> Session:
        return connect(address)

    def run_script(self, address: Address, text: str) -> str:
        return self.server.run(text, address.database)


@dataclass
class DerbyDatabases:
    """Derby databases in directories, opened in one JVM."""

    directory: Path
    jvm: Any
    dialect: str = "derby"

    def copy(self, state: str) -> Address:
        source = self.directory / f"state-{state}"
        if not source.exists():
            self._create(source, state)
        target = self.directory / f"d{next(_numbers)}"
        shutil.copytree(source, target)
        return self.address(target)

    def address(self, path: Path) -> Address:
        return parse_address(f"derby:{path}", password=Password("mine"))

    def _create(self, path: Path, state: str) -> None:
        with self.connection(path, create=True) as connection:
            if state in OLD:
                for statement in old_schema("derby", state):
                    java_statement = connection.createStatement()
                    java_statement.execute(statement)
                    java_statement.close()
                    java_statement._detach()
            else:
                for text in hive_scripts("derby", state):
                    self._ij(connection, text)
        with self.open(self.address(path)) as session:
            insert_rows(session)

    @contextmanager
    def connection(self, path: Path, *, create: bool = False) -> Iterator[Any]:
        """A plain JDBC connection; the database is shut down afterwards."""
        from py4j.protocol import Py4JJavaError

        source = self.jvm.org.apache.derby.jdbc.BasicEmbeddedDataSource40()
        source.setDatabaseName(str(path))
        source.setUser("APP")
        source.setPassword("mine")
        if create:
            source.setCreateDatabase("create")
        connection = source.getConnection()
        try:
            yield connection
        finally:
            connection.close()
            connection._detach()
            source._detach()
            shutdown = self.jvm.org.apache.derby.jdbc.BasicEmbeddedDataSource40()
            shutdown.setDatabaseName(str(path))
            shutdown.setShutdownDatabase("shutdown")
            try:
                shutdown.getConnection()
            except Py4JJavaError as error:
                assert error.java_exception.getSQLState() == "08006"
                error.java_exception._detach()
            finally:
                shutdown._detach()

    def open(self, address: Address) -> Session:
        return DerbySession(address, self.jvm)

    def run_script(self, address: Address, text: str) -> str:
        with self.connection(Path(address.database)) as connection:
            return self._ij(connection, text)

    def _ij(self, connection: object, text: str) -> str:
        java = self.jvm.java
        output = java.io.ByteArrayOutputStream()
        source = java.io.ByteArrayInputStream(text.encode("utf-8"))
        self.jvm.org.apache.derby.tools.ij.runScript(connection, source, "UTF-8", output, "UTF-8")
        return str(output.toString("UTF-8"))
