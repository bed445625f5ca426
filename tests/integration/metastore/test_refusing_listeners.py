"""Changes that a listener of a site refuses, before or after the server carries them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hive_views.cli.exit_codes import ExitCode, exit_code
from hive_views.errors import CommitStateUnknownError, HiveViewsError, MetastoreRefusedError, PermissionDeniedError
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    Database,
    InvalidObjectException,
    MetaException,
)
from hive_views.metastore.invalid_requests import (
    invalid_create,
    invalid_create_in,
    invalid_database_create,
)
from hive_views.metastore.transport.client import MetastoreClient
from tests.integration.metastore.denied_changes import EMPTY, OPERATIONS, Denied, Realm
from tests.integration.metastore.listeners import RefusingMetastore, start_refusing
from tests.suites import extended

REFUSAL = "the steward must agree first"
"""A text that does not show what kind of check it comes from."""

DENIAL = "alice lacks the privilege to do this"
DATABASE_FAILURE = "javax.jdo.JDODataStoreException: connection reset"

EXCEPTIONS = ("MetaException", "InvalidOperationException", "NoSuchObjectException", "RuntimeException")
"""Each arrives as a MetaException."""


@pytest.fixture(scope="module", params=[EMBEDDED_VERSION, *extended("3.1.3", "4.0.1", "4.2.0")])
def refusing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefusingMetastore]:
    """A metastore with the listeners of the tests."""
    with start_refusing(request.param, tmp_path_factory.mktemp("listeners")) as metastore:
        yield metastore


@pytest.fixture
def version(request: pytest.FixtureRequest) -> str:
    """The release of the metastore."""
    return str(request.node.callspec.params["refusing"])


@pytest.fixture(scope="module")
def realm(refusing: RefusingMetastore) -> Realm:
    """A filled database; tests leave it as it is."""
    return filled(refusing)


def filled(refusing: RefusingMetastore) -> Realm:
    realm = Realm(refusing.metastore)
    with realm.catalog() as catalog:
        realm.fill(catalog)
    return realm


def run(operation: Denied, realm: Realm) -> HiveViewsError:
    """Run an operation that fails, and return its error."""
    with realm.catalog({"ugi": "alice"}) as catalog, pytest.raises(HiveViewsError) as caught:
        operation.run(catalog, realm)
    return caught.value


@pytest.mark.parametrize("exception", [EXCEPTIONS[0], *extended(*EXCEPTIONS[1:])])
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_refused_change_leaves_nothing(
    operation: Denied, exception: str, version: str, refusing: RefusingMetastore, realm: Realm
) -> None:
    """The text does not show that it comes from a check; the same answer to an invalid request does."""
    if not operation.is_checked_by_hive2 and version == EMBEDDED_VERSION:
        pytest.skip("Hive 2.3 does not check it")
    before = realm.state()
    with refusing.refusing(exception, REFUSAL):
        error = run(operation, realm)
    assert realm.state() == before
    if (operation.name, exception) == ("change database", "RuntimeException"):
        # The server closes the connection (3.1.3) or reports an internal error (4.0.1, 4.2.0), without the text.
        assert exit_code(error) is ExitCode.UNKNOWN
        return
    assert REFUSAL in str(error)
    assert isinstance(error, MetastoreRefusedError)
    assert not isinstance(error, PermissionDeniedError)
    assert not error.may_take_effect
    assert exit_code(error) is ExitCode.FAILED


@pytest.mark.parametrize("kind", ["view", "table"])
def test_invalid_create_is_refused_without_listener(kind: str, refusing: RefusingMetastore, realm: Realm) -> None:
    """With another answer than a listener's, within a second, and it leaves nothing."""
    before = realm.state()
    with realm.catalog() as catalog:
        row = catalog.store.client.get_table(realm.database, kind[0])
        assert row is not None
        row.tableName = "new"
        with pytest.raises(MetaException, match=r"Attempt to store value .* that has maximum length of 767"):
            invalid_create(catalog.store.client, row)()
    assert realm.state() == before


IMPOSSIBLE = "Parent path is not a directory: file:/dev/null|Failed to create external path file:/dev/null"


@pytest.mark.parametrize(
    ("invalid", "answer"),
    [
        (
            lambda client, realm: invalid_database_create(client, Database(name=f"{realm.database}_new")),
            IMPOSSIBLE,
        ),
        (
            lambda client, realm: invalid_create_in(client, f"{realm.database}{EMPTY}"),
            "Attempt to store value .* that has maximum length of 767",
        ),
    ],
    ids=["create database", "partition, change or drop of a database"],
)
def test_invalid_request_is_refused_without_listener(
    invalid: Callable[[MetastoreClient, Realm], Callable[[], None]],
    answer: str,
    refusing: RefusingMetastore,
    realm: Realm,
) -> None:
    """Because it is invalid, and it leaves nothing."""
    before = realm.state()
    with realm.catalog() as catalog, pytest.raises((MetaException, InvalidObjectException), match=answer):
        invalid(catalog.store.client, realm)()
    assert realm.state() == before


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_denial_with_unknown_text_is_permission_error(
    operation: Denied, version: str, refusing: RefusingMetastore, realm: Realm
) -> None:
    if not operation.is_checked_by_hive2 and version == EMBEDDED_VERSION:
        pytest.skip("Hive 2.3 does not check it")
    before = realm.state()
    with refusing.refusing("MetaException", DENIAL):
        error = run(operation, realm)
    assert realm.state() == before
    assert isinstance(error, PermissionDeniedError)
    assert (error.operation, error.reason) == (operation.operation, DENIAL)
    assert exit_code(error) is ExitCode.DENIED


@pytest.mark.extended
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_refusal_that_may_be_failure_of_database_is_unknown_outcome(
    operation: Denied, version: str, refusing: RefusingMetastore
) -> None:
    """The database may still carry out a change that the server could not confirm: new files are kept."""
    if not operation.is_checked_by_hive2 and version == EMBEDDED_VERSION:
        pytest.skip("Hive 2.3 does not check it")
    realm = filled(refusing)
    before = realm.state()
    with refusing.refusing("MetaException", DATABASE_FAILURE):
        error = run(operation, realm)
    assert isinstance(error, CommitStateUnknownError)
    assert realm.state().rows == before.rows
    assert realm.state().files >= before.files


CARRIED_OUT = tuple(
    operation
    for operation in OPERATIONS
    if operation.name in ("create", "replace", "rename", "drop", "purge", "register")
    or operation.name in ("create table", "commit of a table", "rename table", "drop table", "purge table")
    or operation.name in ("add partition", "drop partition", "create database", "drop database")
)


@pytest.mark.extended
@pytest.mark.parametrize("message", [REFUSAL, DENIAL])
@pytest.mark.parametrize("operation", CARRIED_OUT, ids=str)
def test_change_refused_after_it_was_carried_out_loses_no_file(
    operation: Denied, message: str, refusing: RefusingMetastore
) -> None:
    """A listener that fails after the commit: the change is applied or unknown, never refused."""
    realm = filled(refusing)
    before = realm.state()
    with refusing.refusing("MetaException", message, time="after"), realm.catalog() as catalog:
        try:
            operation.run(catalog, realm)
        except HiveViewsError as error:
            assert exit_code(error) is ExitCode.UNKNOWN
            assert realm.state().files >= before.files
    after = realm.state()
    assert (after.rows, after.databases, after.partitions) != (before.rows, before.databases, before.partitions)
    with realm.catalog() as catalog:
        for name in catalog.list_views(realm.database):
            catalog.load_view(name)
        for name in catalog.list_tables(realm.database):
            catalog.load_table(name)
