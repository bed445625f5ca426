"""Checks of the metastore's behavior on a temporary row."""

from __future__ import annotations

from collections.abc import Iterator

from hive_views.config import LOCK_ENABLED, PARAMETER_MAX_SIZE, CatalogConfig, default_of
from hive_views.doctor.report import Finding, Level, abbreviate, report_failure
from hive_views.errors import LockError, MetastoreError
from hive_views.metastore.capabilities import TEMPORARY_ROW_PREFIX, RowContent, TemporaryRow, honors_cas
from hive_views.metastore.transport.client import MetastoreClient

TEXT_SIZES = (30_000, 100_000, 1_000_000)
PARAMETER_SIZES = (4_000, default_of(PARAMETER_MAX_SIZE))
COMMENT_SIZES = (255, 4_000)
"""Tested lengths in characters, up to the first that fails: a rejection may take a server 20 seconds."""

GREEK, ASTRAL = "Ελλάδα, 東京", "😀"
"""Characters outside Latin-1, and outside 16 bits."""

_LOCK_TIMEOUT_MS = 15_000
_LOCKS_HANG_ON_DERBY = ("4.0.", "4.1.")
_TOO_LONG_FOR_DERBY = 32_701
"""Characters of a text that Derby rejects; the other databases accept it."""

_CLOCK_TOLERANCE_S = 5


def check_row(client: MetastoreClient, config: CatalogConfig, database: str) -> Iterator[Finding]:
    """Run the checks that need a temporary row."""
    row = TemporaryRow(client, database)
    try:
        with row:
            yield Finding("row", Level.OK, str(row.name), "a temporary row can be created and read back")
            for check, findings in (
                ("row", _round_trip(row)),
                ("clock", _clock(row)),
                ("compare-and-swap", _compare_and_swap(client, config, row)),
                ("locks", _locks(config, row)),
                ("lock-concurrency", _lock_concurrency(client, row)),
                ("filter", _filter(row)),
                ("characters", _characters(row)),
                ("sizes", _sizes(config, row)),
                ("leftovers", _leftovers(row)),
            ):
                yield from report_failure(check, database, findings)
    except MetastoreError as error:
        yield Finding(
            "row",
            Level.PROBLEM,
            str(row.name),
            f"a temporary row cannot be created or removed: {error}",
            "Check your privileges in this database, name another one with --database, or use --no-write. Drop the "
            "row if it exists",
        )
        return
    yield Finding("row-removed", Level.OK, str(row.name), "the temporary row is removed")


def _round_trip(row: TemporaryRow) -> Iterator[Finding]:
    if not row.is_view():
        yield Finding(
            "row",
            Level.PROBLEM,
            str(row.name),
            "the server changed a view's type or lost a parameter",
            "Look for a transformer or listener in the server's configuration",
        )


def _clock(row: TemporaryRow) -> Iterator[Finding]:
    if row.clock is None:
        yield Finding("clock", Level.SKIPPED, "", "the server does not report its time")
        return
    before, server, after = row.clock
    # The server reports whole seconds, rounded down.
    skew = 0.0 if before - 1 <= server <= after else server - before if server < before else server - after
    details = {"skew_s": round(skew, 1)}
    if abs(skew) <= _CLOCK_TOLERANCE_S:
        yield Finding("clock", Level.OK, "", "the server's clock agrees with this machine's", None, details)
        return
    yield Finding(
        "clock",
        Level.WARNING,
        "",
        f"the server's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's",
        "Synchronize both by NTP: versions get the time of this machine, rows that of the server, and a rollback to a "
        "time compares them",
        details,
    )


def _compare_and_swap(client: MetastoreClient, config: CatalogConfig, row: TemporaryRow) -> Iterator[Finding]:
    subject = row.name.database
    expected = honors_cas(client)
    try:
        right = row.compare_and_swap("0", "1")
    except MetastoreError as error:
        yield Finding(
            "compare-and-swap",
            Level.PROBLEM,
            subject,
            f"an alter with a correct expectation fails: {abbreviate(str(error))}",
            # Measured with Hive 4.0.1 on Derby, whose own script makes such tables.
            "Change PARAM_VALUE of Derby's TABLE_PARAMS from CLOB to VARCHAR(32672)"
            if "42818" in str(error)
            else "See the server's log",
        )
        return
    ignored = row.compare_and_swap("0", "2")
    details = {"honored": right and not ignored, "by_methods": expected}
    if not right:
        message = "a correct expectation is rejected"
        yield Finding("compare-and-swap", Level.PROBLEM, subject, message, "See the server's log", details)
    elif not ignored:
        message = "honored: the server rejects a commit on an outdated state (HIVE-26882)"
        yield Finding("compare-and-swap", Level.OK, subject, message, None, details)
    elif config.lock.enabled and not expected:
        yield Finding(
            "compare-and-swap",
            Level.WARNING,
            subject,
            "ignored: only the lock keeps writers from losing each other's commits",
            f"Keep {LOCK_ENABLED}=true here and in every other writer (Spark, Trino), or upgrade to Hive 4",
            details,
        )
    else:
        yield Finding(
            "compare-and-swap",
            Level.PROBLEM,
            subject,
            f"ignored, {'though the server has the methods of one that honors it' if expected else 'and no locks'}",
            f"Set {LOCK_ENABLED}=true here and in every other writer",
            details,
        )


def _locks(config: CatalogConfig, row: TemporaryRow) -> Iterator[Finding]:
    severity = Level.PROBLEM if config.lock.enabled else Level.WARNING
    wait = min(config.lock.timeout_ms, _LOCK_TIMEOUT_MS)
    try:
        trial = row.probe_lock(config.lock._replace(timeout_ms=wait))
    except (LockError, MetastoreError) as error:
        advice = f"Commits need it unless {LOCK_ENABLED}=false, which is safe only where compare-and-swap is honored"
        yield Finding("locks", severity, row.name.database, str(error), advice)
        return
    details = {"milliseconds": round(trial.milliseconds, 1)}
    if trial.was_listed and trial.is_gone:
        message = f"acquired, listed and released in {trial.milliseconds:.1f} ms"
        yield Finding("locks", Level.OK, row.name.database, message, None, details)
        return
    message = (
        "the server does not list an acquired lock" if trial.is_gone else "a lock is still listed after it was released"
    )
    yield Finding("locks", severity, row.name.database, message, "See the server's log", details)


def _lock_concurrency(client: MetastoreClient, row: TemporaryRow) -> Iterator[Finding]:
    """Detect Derby by a text that it rejects; an actual test would leave the server unusable until a restart."""
    reported_version = client.server_version()
    if not reported_version.startswith(_LOCKS_HANG_ON_DERBY):
        return
    try:
        row.write_content(RowContent(text=_long("text", _TOO_LONG_FOR_DERBY)))
    except MetastoreError as error:
        yield Finding(
            "lock-concurrency",
            Level.WARNING,
            row.name.database,
            f"Hive {reported_version} apparently uses Derby, where concurrent lock requests hang",
            "Use another database (PostgreSQL, MariaDB) or Hive 4.2 if more than one program writes",
            {"reason": abbreviate(str(error))},
        )


def _filter(row: TemporaryRow) -> Iterator[Finding]:
    answers: dict[str, object] = {}
    for operator, name in (("like", "like"), ("=", "equals")):
        try:
            answers[name] = row.is_found_by(operator)
        except MetastoreError as error:
            answers[name] = abbreviate(str(error))
    if answers["like"] is True:
        remark = "" if answers["equals"] is True else " (by like, not by =)"
        yield Finding("filter", Level.OK, "", f"names can be listed by a parameter{remark}", None, answers)
        return
    yield Finding(
        "filter",
        Level.WARNING,
        "",
        f"names cannot be listed by a parameter: {answers['like'] or 'the row was not found'}",
        "Listing reads the rows of all views of a database instead, which is slow where there are thousands",
        answers,
    )


def _characters(row: TemporaryRow) -> Iterator[Finding]:
    for text, what in ((GREEK, "beyond Latin-1"), (ASTRAL, "beyond 16 bits (emoji)")):
        content = RowContent(f"SELECT '{text}' AS n", text, text)
        try:
            damaged = row.write_content(content)
            message = f"characters {what} are damaged in: {', '.join(damaged)}"
        except MetastoreError as error:
            damaged = tuple(vars(content))
            message = f"characters {what} are rejected: {error}"
        if damaged:
            yield Finding(
                "characters",
                Level.WARNING,
                "",
                message,
                "The metadata files are intact, but Hive and plain Spark read the damaged row. Change the character "
                "set of the metastore's tables TBLS, TABLE_PARAMS and COLUMNS_V2 to utf8mb4",
                {"damaged": list(damaged), "characters": text},
            )
            return
    yield Finding("characters", Level.OK, "", "characters of all scripts are kept")


def _sizes(config: CatalogConfig, row: TemporaryRow) -> Iterator[Finding]:
    for name, sizes, enough, advice in (
        ("text", TEXT_SIZES, TEXT_SIZES[0], "Longer views cannot be committed here (Derby: 32,700 characters)"),
        (
            "parameter",
            PARAMETER_SIZES,
            config.parameter_max_size,
            f"Set {PARAMETER_MAX_SIZE} to the kept size, or to 0 to copy no schema into the row",
        ),
        ("comment", COMMENT_SIZES, COMMENT_SIZES[0], "Keep comments of columns shorter"),
    ):
        kept, failure, reason = 0, "", ""
        for size in sizes:
            try:
                damaged = row.write_content(RowContent(**{name: _long(name, size)}))
            except MetastoreError as error:
                failure, reason = f"{size:,} are rejected", abbreviate(str(error))
            else:
                failure = f"{size:,} are truncated without an error" if damaged else ""
            if failure:
                break
            kept = size
        level = Level.OK if kept >= min(enough, sizes[-1]) else Level.WARNING
        message = f"a {name} of {kept:,} characters is kept{f'; {failure}' if failure else ''}"
        details = {"kept": kept, "failure": failure, "reason": reason}
        yield Finding(f"{name}-size", level, "", message, advice if level is Level.WARNING else None, details)


def _leftovers(row: TemporaryRow) -> Iterator[Finding]:
    others = row.find_other_names()
    if others:
        yield Finding(
            "leftovers",
            Level.WARNING,
            row.name.database,
            f"other rows named {TEMPORARY_ROW_PREFIX}…: {', '.join(others)}",
            "They belong to a doctor that runs now, or that was killed; drop them in the latter case",
            {"rows": others},
        )


def _long(name: str, size: int) -> str:
    return f"SELECT '{'x' * (size - 14)}' AS n"[:size] if name == "text" else "x" * size
