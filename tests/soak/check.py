"""The truth about a soak: what clients were told, held against what is there. Views are followed by their UUIDs."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.integration.catalog.samples import path
from tests.soak.client import MATERIALIZED, MOVABLE, STEADY, counter, text
from tests.soak.ledger import Attempt, Outcome
from tests.soak.world import File, World

HARMLESS = {"NoSuchViewError", "ViewAlreadyExistsError"}
"""Refusals that say what stands there, for views that come and go."""

UNREADABLE = {"MetadataFileError", "MetadataFileNotFoundError", "InvalidMetadataError", "RefusedLocationError"}
"""What no client may ever be told: a pointer always names a file that can be read."""


@dataclass
class Story:
    """All that clients were told about one view."""

    uuid: str
    done: list[Attempt] = field(default_factory=list)
    """What was acknowledged, by the time at which it was begun."""
    doubtful: list[Attempt] = field(default_factory=list)
    """What may have been done to it or not, and is known to have been about it."""
    dropped: list[Attempt] = field(default_factory=list)

    def of(self, *operations: str) -> list[Attempt]:
        """What was acknowledged of these operations."""
        return [attempt for attempt in self.done if attempt.operation in operations]


@dataclass
class Verdict:
    """What a check found."""

    violations: list[str] = field(default_factory=list)
    """What must not be."""
    counts: Counter[str] = field(default_factory=Counter)

    def expect(self, holds: object, message: str) -> None:
        """Note a violation where something does not hold."""
        if not holds:
            self.violations.append(message)


def check(attempts: list[Attempt], world: World, snapshots: Mapping[str, set[int]], base_rows: int) -> Verdict:
    """Hold what clients were told against what is there."""
    verdict = Verdict()
    for attempt in attempts:
        verdict.expect("died" not in attempt.known, f"an error that is none of ours: {attempt.get('died')}\n{attempt}")
        verdict.expect(attempt.get("error") not in UNREADABLE, f"{attempt}")
        verdict.expect(
            attempt.get("name") not in (*STEADY, *MATERIALIZED) or attempt.get("error") not in HARMLESS, f"{attempt}"
        )
    stories = _stories(attempts, world)
    live = _check_rows(world, verdict)
    finals = {uuid: _final(stories[uuid], attempts, world, live, verdict) for uuid in sorted(stories)}
    _check_texts(attempts, finals, verdict)
    for uuid, final in finals.items():
        if final is not None:
            _check_story(stories[uuid], final, attempts, verdict)
            verdict.counts["metadata files"] += len(world.files[uuid])
            verdict.counts["orphan files"] += len(world.files[uuid]) - (final.number + 1)
            verdict.counts["commits"] += final.number + 1
            verdict.counts["longest history"] = max(verdict.counts["longest history"], final.versions)
    for name, row in world.rows.items():
        if name in MOVABLE:
            _check_name(name, row["parameters"]["uuid"], stories, attempts, verdict)
    for name in STEADY:
        verdict.expect(name in world.rows, f"{name} was never dropped and is gone")
    _check_reads(attempts, stories, verdict)
    _check_refreshes(attempts, snapshots, base_rows, verdict)
    verdict.expect(not world.strange, f"files that nobody knows: {world.strange[:5]}")
    verdict.counts["views made"] = len(stories)
    verdict.counts["views there"] = len(world.rows)
    return verdict


def _stories(attempts: Iterable[Attempt], world: World) -> dict[str, Story]:
    stories: dict[str, Story] = {}
    for attempt in attempts:
        uuid = attempt.get("uuid")
        if attempt.operation == "drop" and attempt.outcome is Outcome.DONE:
            file = world.file(attempt.known["location"])
            assert file is not None, f"the file of a dropped view is gone: {attempt}"
            uuid = file.uuid
        if uuid is None:
            continue
        story = stories.setdefault(uuid, Story(uuid))
        if attempt.outcome is Outcome.DONE:
            story.done.append(attempt)
            if attempt.operation == "drop":
                story.dropped.append(attempt)
        elif attempt.outcome.is_doubtful:
            story.doubtful.append(attempt)
    for row in world.rows.values():
        uuid = row["parameters"]["uuid"]
        if row["tableName"] not in MATERIALIZED:
            stories.setdefault(uuid, Story(uuid))
    return stories


def _check_rows(world: World, verdict: Verdict) -> dict[str, File]:
    """Each pointer names a file that can be read, of the view that the row says; the file of each live view."""
    live: dict[str, File] = {}
    for name, row in world.rows.items():
        location = row["parameters"]["metadata_location"]
        file = world.file(location)
        verdict.expect(file is not None, f"{name} points to {location}, which is not there")
        if file is None or name in MATERIALIZED:
            continue
        verdict.expect(file.uuid == row["parameters"]["uuid"], f"{name} points to a file of another view")
        verdict.expect(
            row["viewExpandedText"] == file.current, f"{name}: {row['viewExpandedText']}, not {file.current}"
        )
        verdict.expect(file.uuid not in live, f"{file.uuid} is there under two names")
        live[file.uuid] = file
    return live


def _final(
    story: Story, attempts: list[Attempt], world: World, live: Mapping[str, File], verdict: Verdict
) -> File | None:
    """The last state of a view: where it points to, or where it did when it was dropped."""
    if story.uuid in live:
        verdict.expect(not story.dropped, f"it was dropped and is there: {[*map(str, story.dropped)]}")
        return live[story.uuid]
    if story.dropped:
        states = {path(attempt.known["location"]) for attempt in story.dropped}
        verdict.expect(len(states) == 1, f"{story.uuid} was dropped in two states: {states}")
        return world.by_path[states.pop()]
    # Nobody knows that it was dropped: somebody must have tried, without an answer.
    names = {attempt.get("name") for attempt in story.done if attempt.operation == "create"}
    names |= {attempt.get("target") for attempt in story.done if attempt.operation == "rename"}
    renames = [item for item in attempts if item.operation == "rename" and item.outcome.is_doubtful]
    drops = [item for item in attempts if item.operation == "drop" and item.outcome.is_doubtful]
    for _ in renames:
        names |= {item.get("target") for item in renames if item.get("name") in names}
    verdict.expect(
        any(drop.get("name") in names for drop in drops),
        f"lost: {story.uuid} ({names}) is gone and nobody tried to drop it: {[*map(str, story.done[-3:])]}",
    )
    acknowledged = {text(item.known["token"]) for item in story.of("create", "replace")}
    refused = {
        text(item.known["token"])
        for item in attempts
        if item.outcome is Outcome.REFUSED and item.operation in ("create", "replace")
    }
    candidates = [
        file
        for file in world.files.get(story.uuid, [])
        if acknowledged <= file.texts.keys() and not refused & file.texts.keys()
    ]
    verdict.expect(candidates, f"no file of {story.uuid} has all that was acknowledged: {acknowledged}")
    return max(candidates, key=lambda file: file.number, default=None)


def _check_texts(attempts: list[Attempt], finals: Mapping[str, File | None], verdict: Verdict) -> None:
    """What was acknowledged is in the history under its number; what was refused is in none; nothing else is."""
    holders: dict[str, tuple[str, int]] = {}
    for uuid, file in finals.items():
        if file is not None:
            for words, number in file.texts.items():
                verdict.expect(words not in holders, f"{words} is in the histories of two views")
                holders[words] = (uuid, number)
    tried = set()
    for attempt in attempts:
        if attempt.operation not in ("create", "replace"):
            continue
        words = text(attempt.known["token"])
        tried.add(words)
        found = holders.get(words)
        if attempt.outcome is Outcome.DONE:
            wanted = (attempt.known["uuid"], attempt.known["version"])
            verdict.expect(found == wanted, f"acknowledged and lost: {attempt}; found: {found}")
        elif attempt.outcome is Outcome.REFUSED:
            verdict.expect(found is None, f"it was said to have failed: {attempt}; found: {found}")
        else:
            verdict.counts[f"{attempt.outcome.value} texts that were made"] += found is not None
            verdict.counts[f"{attempt.outcome.value} texts"] += 1
    verdict.expect(holders.keys() <= tried, f"texts that nobody wrote: {holders.keys() - tried}")


def _check_story(story: Story, final: File, attempts: list[Attempt], verdict: Verdict) -> None:
    """One view: each commit that was acknowledged is among those that made it, and none that was refused."""
    where = f"{story.uuid} ({final.path.name})"
    verdict.expect(sorted(final.texts.values()) == list(range(1, final.versions + 1)), f"{where}: {final.texts}")
    first = list(dict.fromkeys(final.log))
    verdict.expect(first == sorted(first), f"{where}: versions out of order: {final.log}")

    rollbacks = [attempt for attempt in story.of("rollback") if attempt.get("changes")]
    perhaps = Counter(attempt.operation for attempt in story.doubtful)
    made = len(final.log) - final.versions
    verdict.expect(
        len(rollbacks) <= made <= len(rollbacks) + perhaps["rollback"],
        f"{where}: {made} rollbacks, {len(rollbacks)} acknowledged, {perhaps['rollback']} in doubt",
    )
    known = len(story.of("properties", "comment"))
    unknown = perhaps["properties"] + perhaps["comment"]
    made = final.number + 1 - len(final.log)
    verdict.expect(
        known <= made <= known + unknown,
        f"{where}: {made} changes of properties, {known} acknowledged, {unknown} in doubt",
    )

    mine = [*story.done, *story.doubtful]
    for client in {attempt.client for attempt in mine if attempt.operation == "properties"}:
        numbers = [item.number for item in mine if (item.operation, item.client) == ("properties", client)]
        acknowledged = [item.number for item in story.of("properties") if item.client == client]
        now = int(final.properties.get(counter(client), "0"))
        verdict.expect(
            now >= max(acknowledged, default=0) and (now == 0 or now in numbers),
            f"{where}: client {client} counted to {max(acknowledged, default=0)}, found {now}",
        )
    comments = {attempt.get("comment") for attempt in mine if attempt.operation == "comment"}
    comments |= set() if story.of("comment") else {None}
    verdict.expect(final.properties.get("comment") in comments, f"{where}: {final.properties}")

    # What was acknowledged before something else was begun has the lower number.
    texts = story.of("create", "replace")
    ended = sorted((item.end, item.known["version"]) for item in texts)
    times, highest = _running_maximum(ended)
    for item in texts:
        before = highest[bisect_left(times, item.start)]
        verdict.expect(before < item.known["version"], f"{where}: {before} was there before {item}")


def _check_name(name: str, uuid: str, stories: Mapping[str, Story], attempts: list[Attempt], verdict: Verdict) -> None:
    """A view stands where it was put last, or where a rename may have put it that was not over by then."""
    placed = stories[uuid].of("create", "rename")
    if not placed:
        return  # made without an answer
    last = max(placed, key=lambda item: item.start)
    if (last.get("target") or last.get("name")) == name:
        return
    others = [
        item
        for item in attempts
        if item.operation == "rename"
        and item.get("target") == name
        and (item.outcome.is_doubtful or (item.outcome is Outcome.DONE and item.get("uuid") == uuid))
        and (item.outcome.is_doubtful or item.end > last.start)
    ]
    verdict.expect(others, f"{uuid} is {name}, and was put elsewhere: {last}")


def _check_reads(attempts: list[Attempt], stories: Mapping[str, Story], verdict: Verdict) -> None:
    """Who reads sees all that was acknowledged before, whichever metastore is asked."""
    seen: dict[str, tuple[list[int], list[int]]] = {}
    for uuid, story in stories.items():
        seen[uuid] = _running_maximum(
            sorted((item.end, item.known["version"]) for item in story.of("create", "replace"))
        )
    names = {*MOVABLE, *STEADY, *MATERIALIZED}
    for attempt in attempts:
        if attempt.outcome is not Outcome.DONE:
            continue
        if attempt.operation == "load":
            times, highest = seen[attempt.known["uuid"]]
            before = highest[bisect_left(times, attempt.start)]
            verdict.expect(before <= attempt.known["versions"], f"an old state was read: {attempt}; {before} was there")
        if attempt.operation == "list":
            listed = set(attempt.known["names"])
            verdict.expect({*STEADY, *MATERIALIZED} <= listed <= names, f"{attempt}")


def _check_refreshes(
    attempts: list[Attempt], snapshots: Mapping[str, set[int]], base_rows: int, verdict: Verdict
) -> None:
    explained: defaultdict[str, set[int]] = defaultdict(set)
    for attempt in attempts:
        if attempt.operation != "refresh":
            continue
        published = snapshots[attempt.known["name"]]
        if attempt.outcome is Outcome.DONE:
            verdict.expect(attempt.known["snapshot"] in published, f"refreshed and lost: {attempt}")
            verdict.expect(attempt.get("rows") in (None, base_rows), f"wrong rows: {attempt}")
        if attempt.outcome is Outcome.REFUSED:
            verdict.expect(attempt.get("staged") not in published, f"it was said to have failed: {attempt}")
        else:
            explained[attempt.known["name"]] |= {attempt.get("snapshot"), attempt.get("staged")}
    for name, published in snapshots.items():
        strange = published - explained[name]
        verdict.expect(not strange, f"{name} has snapshots that nobody made: {strange}")


def _running_maximum(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Times, and the highest number before each of them and behind the last."""
    times, highest = [], [0]
    for time, number in pairs:
        times.append(time)
        highest.append(max(highest[-1], number))
    return times, highest
