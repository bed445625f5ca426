"""Storages that did not answer are not asked again for a while."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hive_views.errors import MetadataFileError
from hive_views.io.unanswered import MEMORY_S, MOST_UNANSWERED, NETWORK_S, SLOW_S, UnansweredStorages

NETWORK = OSError("When reading information for key 'x': AWS Error NETWORK_CONNECTION during HeadObject operation")
DENIED = OSError("AWS Error ACCESS_DENIED during HeadObject operation")


class Storages:
    """Storages with a clock that requests advance."""

    def __init__(self) -> None:
        self.now = 0.0
        self.storages = UnansweredStorages(lambda: self.now)

    def request(self, location: str, seconds: float = 0.1, error: Exception | None = None) -> bool:
        """Request a file; return whether the request was sent."""
        is_sent = False
        with suppress(OSError, MetadataFileError), self.storages.request(location):
            is_sent = True
            self.now += seconds
            if error is not None:
                raise error
        return is_sent


@pytest.fixture
def storages() -> Storages:
    return Storages()


@pytest.mark.parametrize(
    ("error", "seconds", "is_remembered"),
    [
        (NETWORK, NETWORK_S, True),
        (NETWORK, NETWORK_S / 2, False),
        (DENIED, SLOW_S / 2, False),
        (DENIED, SLOW_S, True),
        (ConnectionError("Timed out"), NETWORK_S, True),
        (OSError("hdfs://127.0.0.1:1: Connection refused (os error 111)"), NETWORK_S, True),
        (OSError("hdfs://a: failed to lookup address information: Name or service not known"), NETWORK_S, True),
        (FileNotFoundError("x"), SLOW_S, False),
        (None, SLOW_S, False),
    ],
)
def test_failures_that_are_remembered(
    storages: Storages, error: Exception | None, seconds: float, is_remembered: bool
) -> None:
    assert storages.request("s3://a/x", seconds, error)
    assert storages.request("s3://a/y") is not is_remembered


def test_reason_names_the_storage_that_did_not_answer(storages: Storages) -> None:
    storages.request("s3://a/x", NETWORK_S, NETWORK)
    with (
        pytest.raises(MetadataFileError, match="s3://a/y: s3://a did not answer"),
        storages.storages.request("s3://a/y"),
    ):
        pass


def test_storage_is_asked_again_after_a_while(storages: Storages) -> None:
    storages.request("s3://a/x", NETWORK_S, NETWORK)
    storages.now += MEMORY_S
    assert storages.request("s3://a/y")


def test_storages_of_a_scheme_are_not_asked_after_some_failed(storages: Storages) -> None:
    for number in range(MOST_UNANSWERED):
        assert storages.request(f"s3://{number}/x", NETWORK_S, NETWORK)
    assert not storages.request("s3://other/x")
    assert storages.request("hdfs://other/x")
    assert storages.request("file:/x")
    assert storages.request("/x")


def test_storages_of_a_scheme_are_asked_if_one_answered(storages: Storages) -> None:
    storages.request("s3://good/x")
    for number in range(MOST_UNANSWERED + 2):
        assert storages.request(f"s3://{number}/x", NETWORK_S, NETWORK)
    assert storages.request("s3://good/y")


def test_local_files_are_always_read(storages: Storages) -> None:
    storages.request("file:/x", SLOW_S, NETWORK)
    assert storages.request("file:/y")
