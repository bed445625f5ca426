"""Checks of view properties and locations before they are stored, and the retry properties of a commit."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Mapping

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
from tenacity.stop import stop_after_delay

from hive_views.config import CatalogConfig, required_engines
from hive_views.errors import InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.io.locations import is_absolute, steps_out
from hive_views.metastore.rows.codec import check_properties
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.file_codec import METADATA_PATH

logger = logging.getLogger(__name__)

_RETRIES = ("commit.retry.num-retries", 4)
_RETRY_MIN_WAIT_MS = ("commit.retry.min-wait-ms", 100)
_RETRY_MAX_WAIT_MS = ("commit.retry.max-wait-ms", 60_000)
_RETRY_TOTAL_MS = ("commit.retry.total-timeout-ms", 1_800_000)
"""View properties with their defaults, as in Iceberg's TableProperties."""

_MAX_RETRY_NUMBER = 86_400_000
"""The maximum wait, a day in milliseconds: properties of another writer must not make a commit wait forever."""


def check_view_properties(properties: Mapping[str, str]) -> None:
    """Reject view properties that cannot be stored or that would make later commits of the view fail."""
    check_properties(properties)
    required_engines(properties)
    if METADATA_PATH in properties:
        check_location(properties[METADATA_PATH], METADATA_PATH)
    for key in (_RETRIES, _RETRY_MIN_WAIT_MS, _RETRY_MAX_WAIT_MS, _RETRY_TOTAL_MS):
        _number(properties, key)


def check_location(location: object, key: str = "location") -> str:
    """Return a directory's location without a trailing slash; reject one that readers would resolve differently."""
    if not isinstance(location, str) or not is_absolute(location):
        raise InvalidPropertyError(key, location, "name a directory by its URI (s3://bucket/dir) or absolute path")
    if location.startswith("//") or re.match(r"file://[^/]", location):
        raise InvalidPropertyError(key, location, "a local directory has no host: write file:/dir or /dir")
    if steps_out(location):
        raise InvalidPropertyError(key, location, "'..' leads elsewhere for some readers: name the directory itself")
    if "#" in location or "?" in location:
        raise InvalidPropertyError(key, location, "a '#' or '?' would cut it off where it is read as a URI")
    return location.rstrip("/")


def configured_properties(
    config: CatalogConfig, properties: Mapping[str, str], *, with_defaults: bool = True
) -> dict[str, str]:
    """Add the catalog's defaults and overrides to view properties, and check the result."""
    merged = {**(config.view_defaults if with_defaults else {}), **properties, **config.view_overrides}
    check_view_properties(merged)
    return merged


def new_view_location(store: MetastoreStore, name: ViewName, location: str | None) -> str:
    """Return the base location of a new view: the given one, else a directory below the database's."""
    # Loads the database even if a location is given: no file may be written for a missing database.
    base = store.client.get_database(name.database).locationUri
    if location is not None:
        return check_location(location)
    if not base and store.config.warehouse:
        base = f"{store.config.warehouse}/{name.database}.db"
    if not base:
        raise InvalidPropertyError(
            "warehouse", None, f"database {name.database} has no location, so the catalog needs a warehouse"
        )
    suffix = f"-{uuid.uuid4().hex}" if store.config.unique_location else ""
    return f"{base.rstrip('/')}/{name.name}{suffix}"


def commit_retries(properties: Mapping[str, str], is_retryable: Callable[[BaseException], bool]) -> Retrying:
    """Return the retry policy that a view's `commit.retry.*` properties describe."""
    total_s = _stored_number(properties, _RETRY_TOTAL_MS) / 1000
    return Retrying(
        retry=retry_if_exception(is_retryable),
        stop=stop_after_attempt(1 + _stored_number(properties, _RETRIES)) | stop_after_delay(total_s),
        wait=wait_random_exponential(
            multiplier=_stored_number(properties, _RETRY_MIN_WAIT_MS) / 1000,
            # The time limit is checked only between waits.
            max=min(_stored_number(properties, _RETRY_MAX_WAIT_MS) / 1000, total_s),
        ),
        reraise=True,
    )


def _stored_number(properties: Mapping[str, str], key: tuple[str, int]) -> int:
    """Return a stored number, or the default if it is invalid, so that a commit can correct an invalid value."""
    try:
        return _number(properties, key)
    except InvalidPropertyError as error:
        logger.warning("%s. Using %s", error, key[1])
        return key[1]


def _number(properties: Mapping[str, str], key: tuple[str, int]) -> int:
    value = properties.get(key[0], key[1])
    try:
        number = int(value)
    except ValueError:
        raise InvalidPropertyError(key[0], value, "it must be a whole number") from None
    if number < 0:
        raise InvalidPropertyError(key[0], value, "it must not be negative")
    if number > _MAX_RETRY_NUMBER:
        raise InvalidPropertyError(key[0], value, f"it must be at most {_MAX_RETRY_NUMBER}")
    return number
