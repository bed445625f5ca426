"""The check of a soak finds what it must find: a history that is right, and each way of it to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.soak.check import check
from tests.soak.client import MATERIALIZED, STEADY, counter, text
from tests.soak.ledger import FOREVER, Attempt, Ledger, Outcome, read_ledgers
from tests.soak.world import File, World

DONE, REFUSED, UNKNOWN = Outcome.DONE, Outcome.REFUSED, Outcome.UNKNOWN


class Scene:
    """A few views and what clients were told of them: three that stay, one that was renamed, one that was dropped."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.world = World({}, {}, [])
        self.snapshots = {name: {1} for name in MATERIALIZED}
        for number, name in enumerate(STEADY):
            self.tell("create", name=name, token=f"9-{number}", uuid=f"u-{name}", version=1)
            self.place(name, f"u-{name}", [f"9-{number}"])
        for name in MATERIALIZED:
            self.place(name, f"u-{name}", ["9-9"])
            self.tell("refresh", name=name, staged=1, snapshot=1, rows=10)

        self.tell("create", name="m_0", token="1-1", uuid="moved", version=1)
        self.tell("replace", name="m_0", token="1-2", uuid="moved", version=2)
        self.tell("properties", name="m_0", uuid="moved")
        self.tell("rollback", name="m_0", uuid="moved", changes=True)
        self.tell("rename", name="m_0", target="m_1", uuid="moved")
        self.tell("load", name="m_1", uuid="moved", versions=2)
        self.tell("list", names=[*STEADY, *MATERIALIZED, "m_1"])
        self.counted = self.find("properties").number
        self.place("m_1", "moved", ["1-1", "1-2"], number=3, log=(1, 2, 1), properties={counter(1): str(self.counted)})

        self.tell("create", name="m_2", token="1-3", uuid="dropped", version=1)
        gone = self.place("m_2", "dropped", ["1-3"])
        del self.world.rows["m_2"]
        self.tell("drop", name="m_2", location=str(gone.path))

    def tell(self, operation: str, outcome: Outcome = DONE, **known: object) -> Attempt:
        """A client did something, after all that was done before."""
        number = len(self.attempts) + 1
        end = FOREVER if outcome is Outcome.CUT_SHORT else 10 * number + 5
        made = Attempt(1, number, operation, 10 * number, end, outcome, dict(known))
        self.attempts.append(made)
        return made

    def find(self, operation: str, **known: object) -> Attempt:
        return next(
            item for item in self.attempts if item.operation == operation and known.items() <= item.known.items()
        )

    def place(
        self,
        name: str,
        uuid: str,
        tokens: list[str],
        *,
        number: int = 0,
        log: tuple[int, ...] | None = None,
        properties: dict[str, str] | None = None,
    ) -> File:
        """A view is there in this state; earlier states of it have files too."""
        texts = {text(token): at for at, token in enumerate(tokens, 1)}
        order = log or tuple(texts.values())
        file = File(
            Path(f"/{uuid}-{number}"),
            uuid,
            number,
            texts,
            len(texts),
            order,
            properties or {},
            text(tokens[order[-1] - 1]),
        )
        self.world.rows[name] = {
            "tableName": name,
            "viewExpandedText": file.current,
            "parameters": {"uuid": uuid, "metadata_location": str(file.path)},
        }
        self.world.by_path[file.path] = file
        self.world.files[uuid] = [replace(file, number=at) for at in range(number)] + [file]
        return file

    def violations(self) -> list[str]:
        return check(self.attempts, self.world, self.snapshots, 10).violations


def test_correct_history_has_no_violations() -> None:
    assert Scene().violations() == []


def _lose_a_version(scene: Scene) -> None:
    scene.place("m_1", "moved", ["1-1"], number=2, log=(1, 1), properties={counter(1): str(scene.counted)})


def _lose_a_view(scene: Scene) -> None:
    del scene.world.rows["m_1"]


def _drop_without_effect(scene: Scene) -> None:
    scene.place("m_2", "dropped", ["1-3"])


def _refused_and_made(scene: Scene) -> None:
    scene.find("replace").outcome = REFUSED


def _lose_a_property(scene: Scene) -> None:
    scene.place("m_1", "moved", ["1-1", "1-2"], number=2, log=(1, 2, 1))


def _lose_a_rollback(scene: Scene) -> None:
    properties = {counter(1): str(scene.counted)}
    scene.place("m_1", "moved", ["1-1", "1-2"], number=2, log=(1, 2), properties=properties)


def _refuse_a_rollback_that_was_made(scene: Scene) -> None:
    scene.find("rollback").outcome = REFUSED


def _refuse_a_property_that_was_set(scene: Scene) -> None:
    scene.find("properties").outcome = REFUSED


def _undo_a_rename(scene: Scene) -> None:
    scene.world.rows["m_0"] = {**scene.world.rows.pop("m_1"), "tableName": "m_0"}


def _read_an_old_state(scene: Scene) -> None:
    scene.find("load").known["versions"] = 1


def _list_too_little(scene: Scene) -> None:
    scene.find("list").known["names"].remove(STEADY[0])


def _lose_a_refresh(scene: Scene) -> None:
    scene.snapshots[MATERIALIZED[0]] = set()


def _refuse_a_refresh_that_was_made(scene: Scene) -> None:
    scene.find("refresh").outcome = REFUSED


def _lose_rows(scene: Scene) -> None:
    scene.find("refresh").known["rows"] = 9


def _lose_a_file(scene: Scene) -> None:
    scene.world.by_path.pop(Path("/moved-3"))


def _damage_a_row(scene: Scene) -> None:
    scene.world.rows["m_1"]["viewExpandedText"] = text("1-2")


def _a_text_from_nowhere(scene: Scene) -> None:
    scene.place(STEADY[0], f"u-{STEADY[0]}", ["9-0", "nobody"], number=1)


def _an_error_of_no_kind(scene: Scene) -> None:
    scene.tell("load", Outcome.CUT_SHORT, name="m_1", died="KeyError")


def _a_steady_view_is_not_found(scene: Scene) -> None:
    scene.tell("load", REFUSED, name=STEADY[0], error="NoSuchViewError")


def _a_file_that_cannot_be_read(scene: Scene) -> None:
    scene.tell("load", REFUSED, name="m_1", error="MetadataFileNotFoundError")


def _a_file_of_no_kind(scene: Scene) -> None:
    scene.world.strange.append(Path("/half.tmp"))


WRONG: list[Callable[[Scene], None]] = [
    _lose_a_version,
    _lose_a_view,
    _drop_without_effect,
    _refused_and_made,
    _lose_a_property,
    _lose_a_rollback,
    _refuse_a_rollback_that_was_made,
    _refuse_a_property_that_was_set,
    _undo_a_rename,
    _read_an_old_state,
    _list_too_little,
    _lose_a_refresh,
    _refuse_a_refresh_that_was_made,
    _lose_rows,
    _lose_a_file,
    _damage_a_row,
    _a_text_from_nowhere,
    _an_error_of_no_kind,
    _a_steady_view_is_not_found,
    _a_file_that_cannot_be_read,
    _a_file_of_no_kind,
]


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__.strip("_"))
def test_violations_are_detected(spoil: Callable[[Scene], None]) -> None:
    scene = Scene()
    spoil(scene)
    assert scene.violations()


@pytest.mark.parametrize("outcome", [UNKNOWN, Outcome.CUT_SHORT])
def test_unknown_outcomes_may_be_applied_or_not(outcome: Outcome) -> None:
    for change, known in {
        "create": {"name": "m_3", "token": "2-1"},
        "replace": {"name": "m_1", "token": "2-1"},
        "rename": {"name": "m_1", "target": "m_4"},
        "drop": {"name": "m_1"},
    }.items():
        made, not_made = Scene(), Scene()
        for scene in (made, not_made):
            scene.tell(change, outcome, **known)
        if change == "create":
            made.place("m_3", "new", ["2-1"])
        elif change == "replace":
            properties = {counter(1): str(made.counted)}
            made.place("m_1", "moved", ["1-1", "1-2", "2-1"], number=4, log=(1, 2, 1, 3), properties=properties)
        elif change == "rename":
            made.world.rows["m_4"] = {**made.world.rows.pop("m_1"), "tableName": "m_4"}
        else:
            del made.world.rows["m_1"]
        assert made.violations() == not_made.violations() == []


def test_ledger_returns_recorded_outcomes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with ledger.attempt(1, 1, "load", name="m_0") as learned:
        learned["versions"] = 3
    with pytest.raises(ZeroDivisionError), ledger.attempt(2, 1, "load", name="m_0"):
        raise ZeroDivisionError
    ledger.note(2, 1, event="refused", error="E")
    ledger.note(2, 2, event="try", operation="list")
    first, second, third = read_ledgers(tmp_path)
    assert (first.outcome, first.known) == (DONE, {"name": "m_0", "versions": 3})
    assert (second.outcome, second.get("error")) == (REFUSED, "E")
    assert (third.outcome, third.end, third.operation) == (Outcome.CUT_SHORT, FOREVER, "list")
    assert first.start < first.end < second.start < second.end < third.start
