"""The check of a soak: logged outcomes are compared with the database. Views are identified by UUID."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.integration.catalog.samples import path
from tests.soak.client import MATERIALIZED, MOVABLE, STEADY, counter, text
from tests.soak.database_state import DatabaseState, File
from tests.soak.ledger import Attempt, Outcome

HARMLESS = {"NoSuchViewError", "ViewAlreadyExistsError"}
"""Expected errors for views that are created and dropped concurrently."""

UNREADABLE = {"MetadataFileError", "MetadataFileNotFoundError", "InvalidMetadataError", "RefusedLocationError"}
"""Errors that must not occur, because a row always points to a readable file."""


@dataclass
class ViewHistory:
    """The logged operations on one view."""

    uuid: str
    applied: list[Attempt] = field(default_factory=list)
    """Applied operations by start time."""
    undetermined: list[Attempt] = field(default_factory=list)
    """Operations on this view that may have been applied or not."""
    dropped: list[Attempt] = field(default_factory=list)

    def of(self, *operations: str) -> list[Attempt]:
        """The applied operations of these kinds."""
        return [attempt for attempt in self.applied if attempt.operation in operations]


@dataclass
class CheckResult:
    """The result of a check."""

    violations: list[str] = field(default_factory=list)
    """Descriptions of violations."""
    counts: Counter[str] = field(default_factory=Counter)

    def expect(self, condition: object, message: str) -> None:
        """Record a violation if a condition is false."""
        if not condition:
            self.violations.append(message)


def check(
    attempts: list[Attempt], state: DatabaseState, snapshots: Mapping[str, set[int]], base_rows: int
) -> CheckResult:
    """Compare logged outcomes with the state of the database."""
    check_result = CheckResult()
    for attempt in attempts:
        check_result.expect("died" not in attempt.details, f"unexpected error: {attempt.get('died')}\n{attempt}")
        check_result.expect(attempt.get("error") not in UNREADABLE, f"{attempt}")
        check_result.expect(
            attempt.get("name") not in (*STEADY, *MATERIALIZED) or attempt.get("error") not in HARMLESS, f"{attempt}"
        )
    histories = _collect_histories(attempts, state)
    live = _check_rows(state, check_result)
    finals = {uuid: _final_file(histories[uuid], attempts, state, live, check_result) for uuid in sorted(histories)}
    _check_texts(attempts, finals, check_result)
    for uuid, final in finals.items():
        if final is not None:
            _check_history(histories[uuid], final, attempts, check_result)
            check_result.counts["metadata files"] += len(state.files[uuid])
            check_result.counts["orphan files"] += len(state.files[uuid]) - (final.number + 1)
            check_result.counts["commits"] += final.number + 1
            check_result.counts["longest history"] = max(check_result.counts["longest history"], final.versions)
    for name, row in state.rows.items():
        if name in MOVABLE:
            _check_name(name, row["parameters"]["uuid"], histories, attempts, check_result)
    for name in STEADY:
        check_result.expect(name in state.rows, f"{name} is missing but was not dropped")
    _check_reads(attempts, histories, check_result)
    _check_refreshes(attempts, snapshots, base_rows, check_result)
    check_result.expect(not state.unexpected_files, f"unexpected files: {state.unexpected_files[:5]}")
    check_result.counts["created views"] = len(histories)
    check_result.counts["existing views"] = len(state.rows)
    return check_result


def _collect_histories(attempts: Iterable[Attempt], state: DatabaseState) -> dict[str, ViewHistory]:
    histories: dict[str, ViewHistory] = {}
    for attempt in attempts:
        uuid = attempt.get("uuid")
        if attempt.operation == "drop" and attempt.outcome is Outcome.APPLIED:
            file = state.file(attempt.details["location"])
            assert file is not None, f"the file of a dropped view is missing: {attempt}"
            uuid = file.uuid
        if uuid is None:
            continue
        history = histories.setdefault(uuid, ViewHistory(uuid))
        if attempt.outcome is Outcome.APPLIED:
            history.applied.append(attempt)
            if attempt.operation == "drop":
                history.dropped.append(attempt)
        elif attempt.outcome.is_undetermined:
            history.undetermined.append(attempt)
    for row in state.rows.values():
        uuid = row["parameters"]["uuid"]
        if row["tableName"] not in MATERIALIZED:
            histories.setdefault(uuid, ViewHistory(uuid))
    return histories


def _check_rows(state: DatabaseState, check_result: CheckResult) -> dict[str, File]:
    """Check that each row points to a readable file of its view; returns the current files by UUID."""
    live: dict[str, File] = {}
    for name, row in state.rows.items():
        location = row["parameters"]["metadata_location"]
        file = state.file(location)
        check_result.expect(file is not None, f"{name} points to {location}, which does not exist")
        if file is None or name in MATERIALIZED:
            continue
        check_result.expect(file.uuid == row["parameters"]["uuid"], f"{name} points to a file of another view")
        check_result.expect(
            row["viewExpandedText"] == file.current, f"{name}: {row['viewExpandedText']}, not {file.current}"
        )
        check_result.expect(file.uuid not in live, f"{file.uuid} exists under two names")
        live[file.uuid] = file
    return live


def _final_file(
    history: ViewHistory,
    attempts: list[Attempt],
    state: DatabaseState,
    live: Mapping[str, File],
    check_result: CheckResult,
) -> File | None:
    """The last metadata file of a view, or the one with which it was dropped."""
    if history.uuid in live:
        check_result.expect(not history.dropped, f"a dropped view exists: {[*map(str, history.dropped)]}")
        return live[history.uuid]
    if history.dropped:
        states = {path(attempt.details["location"]) for attempt in history.dropped}
        check_result.expect(len(states) == 1, f"{history.uuid} was dropped with different files: {states}")
        return state.files_by_path[states.pop()]
    # The view does not exist, so a drop of unknown outcome must have been applied.
    names = {attempt.get("name") for attempt in history.applied if attempt.operation == "create"}
    names |= {attempt.get("target") for attempt in history.applied if attempt.operation == "rename"}
    renames = [item for item in attempts if item.operation == "rename" and item.outcome.is_undetermined]
    drops = [item for item in attempts if item.operation == "drop" and item.outcome.is_undetermined]
    for _ in renames:
        names |= {item.get("target") for item in renames if item.get("name") in names}
    check_result.expect(
        any(drop.get("name") in names for drop in drops),
        f"lost: {history.uuid} ({names}) is missing without a drop: {[*map(str, history.applied[-3:])]}",
    )
    acknowledged = {text(item.details["token"]) for item in history.of("create", "replace")}
    rejected = {
        text(item.details["token"])
        for item in attempts
        if item.outcome is Outcome.REJECTED and item.operation in ("create", "replace")
    }
    candidates = [
        file
        for file in state.files.get(history.uuid, [])
        if acknowledged <= file.texts.keys() and not rejected & file.texts.keys()
    ]
    check_result.expect(candidates, f"no file of {history.uuid} contains all applied versions: {acknowledged}")
    return max(candidates, key=lambda file: file.number, default=None)


def _check_texts(attempts: list[Attempt], finals: Mapping[str, File | None], check_result: CheckResult) -> None:
    """Check that applied versions are in the history under their ID, and that rejected or other versions are not."""
    holders: dict[str, tuple[str, int]] = {}
    for uuid, file in finals.items():
        if file is not None:
            for view_text, number in file.texts.items():
                check_result.expect(view_text not in holders, f"{view_text} is in the histories of two views")
                holders[view_text] = (uuid, number)
    tried = set()
    for attempt in attempts:
        if attempt.operation not in ("create", "replace"):
            continue
        view_text = text(attempt.details["token"])
        tried.add(view_text)
        holder = holders.get(view_text)
        if attempt.outcome is Outcome.APPLIED:
            expected = (attempt.details["uuid"], attempt.details["version"])
            check_result.expect(holder == expected, f"applied but lost: {attempt}; actual: {holder}")
        elif attempt.outcome is Outcome.REJECTED:
            check_result.expect(holder is None, f"rejected but applied: {attempt}; actual: {holder}")
        else:
            check_result.counts[f"{attempt.outcome.value} texts that were applied"] += holder is not None
            check_result.counts[f"{attempt.outcome.value} texts"] += 1
    check_result.expect(holders.keys() <= tried, f"texts that no client wrote: {holders.keys() - tried}")


def _check_history(history: ViewHistory, final: File, attempts: list[Attempt], check_result: CheckResult) -> None:
    """Check that the history of a view contains all applied commits and no rejected ones."""
    description = f"{history.uuid} ({final.path.name})"
    check_result.expect(
        sorted(final.texts.values()) == list(range(1, final.versions + 1)), f"{description}: {final.texts}"
    )
    first = list(dict.fromkeys(final.log))
    check_result.expect(first == sorted(first), f"{description}: versions out of order: {final.log}")

    rollbacks = [attempt for attempt in history.of("rollback") if attempt.get("changes")]
    undetermined = Counter(attempt.operation for attempt in history.undetermined)
    count = len(final.log) - final.versions
    check_result.expect(
        len(rollbacks) <= count <= len(rollbacks) + undetermined["rollback"],
        f"{description}: {count} rollbacks, {len(rollbacks)} applied, {undetermined['rollback']} undetermined",
    )
    applied = len(history.of("properties", "comment"))
    possible = undetermined["properties"] + undetermined["comment"]
    count = final.number + 1 - len(final.log)
    check_result.expect(
        applied <= count <= applied + possible,
        f"{description}: {count} changes of properties, {applied} applied, {possible} undetermined",
    )

    attempts_of_view = [*history.applied, *history.undetermined]
    for client in {attempt.client for attempt in attempts_of_view if attempt.operation == "properties"}:
        numbers = [item.number for item in attempts_of_view if (item.operation, item.client) == ("properties", client)]
        acknowledged = [item.number for item in history.of("properties") if item.client == client]
        now = int(final.properties.get(counter(client), "0"))
        check_result.expect(
            now >= max(acknowledged, default=0) and (now == 0 or now in numbers),
            f"{description}: client {client} counted to {max(acknowledged, default=0)}, actual {now}",
        )
    comments = {attempt.get("comment") for attempt in attempts_of_view if attempt.operation == "comment"}
    comments |= set() if history.of("comment") else {None}
    check_result.expect(final.properties.get("comment") in comments, f"{description}: {final.properties}")

    # Versions applied before another operation began have lower IDs.
    texts = history.of("create", "replace")
    ended = sorted((item.end, item.details["version"]) for item in texts)
    times, highest = _running_maximum(ended)
    for item in texts:
        before = highest[bisect_left(times, item.start)]
        check_result.expect(before < item.details["version"], f"{description}: {before} existed before {item}")


def _check_name(
    name: str, uuid: str, histories: Mapping[str, ViewHistory], attempts: list[Attempt], check_result: CheckResult
) -> None:
    """Check that a view has the name of its last create or rename, or of a concurrent or undetermined rename."""
    placements = histories[uuid].of("create", "rename")
    if not placements:
        return  # created without a reply
    last = max(placements, key=lambda item: item.start)
    if (last.get("target") or last.get("name")) == name:
        return
    possible_renames = [
        item
        for item in attempts
        if item.operation == "rename"
        and item.get("target") == name
        and (item.outcome.is_undetermined or (item.outcome is Outcome.APPLIED and item.get("uuid") == uuid))
        and (item.outcome.is_undetermined or item.end > last.start)
    ]
    check_result.expect(possible_renames, f"{uuid} is named {name} despite {last}")


def _check_reads(attempts: list[Attempt], histories: Mapping[str, ViewHistory], check_result: CheckResult) -> None:
    """Check that reads return all versions applied before, from either metastore."""
    seen: dict[str, tuple[list[int], list[int]]] = {}
    for uuid, history in histories.items():
        seen[uuid] = _running_maximum(
            sorted((item.end, item.details["version"]) for item in history.of("create", "replace"))
        )
    names = {*MOVABLE, *STEADY, *MATERIALIZED}
    for attempt in attempts:
        if attempt.outcome is not Outcome.APPLIED:
            continue
        if attempt.operation == "load":
            times, highest = seen[attempt.details["uuid"]]
            before = highest[bisect_left(times, attempt.start)]
            check_result.expect(
                before <= attempt.details["versions"], f"an old state was read: {attempt}; {before} existed"
            )
        if attempt.operation == "list":
            listed = set(attempt.details["names"])
            check_result.expect({*STEADY, *MATERIALIZED} <= listed <= names, f"{attempt}")


def _check_refreshes(
    attempts: list[Attempt], snapshots: Mapping[str, set[int]], base_rows: int, check_result: CheckResult
) -> None:
    explained: defaultdict[str, set[int]] = defaultdict(set)
    for attempt in attempts:
        if attempt.operation != "refresh":
            continue
        published = snapshots[attempt.details["name"]]
        if attempt.outcome is Outcome.APPLIED:
            check_result.expect(attempt.details["snapshot"] in published, f"applied but lost: {attempt}")
            check_result.expect(attempt.get("rows") in (None, base_rows), f"wrong rows: {attempt}")
        if attempt.outcome is Outcome.REJECTED:
            check_result.expect(attempt.get("staged") not in published, f"rejected but applied: {attempt}")
        else:
            explained[attempt.details["name"]] |= {attempt.get("snapshot"), attempt.get("staged")}
    for name, published in snapshots.items():
        unexplained = published - explained[name]
        check_result.expect(not unexplained, f"{name} has unexplained snapshots: {unexplained}")


def _running_maximum(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The times, and the highest number before each of them and after the last."""
    times, highest = [], [0]
    for time, number in pairs:
        times.append(time)
        highest.append(max(highest[-1], number))
    return times, highest
