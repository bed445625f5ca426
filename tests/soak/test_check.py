"""The check of a soak accepts a correct history and detects each kind of violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.soak.check import check
from tests.soak.client import MATERIALIZED, STEADY, counter, text
from tests.soak.database_state import DatabaseState, File
from tests.soak.ledger import FOREVER, Attempt, Ledger, Outcome, read_ledgers

APPLIED, REJECTED, UNKNOWN = Outcome.APPLIED, Outcome.REJECTED, Outcome.UNKNOWN


class Scenario:
    """A correct history of a few views: three that remain, one renamed, one dropped."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.state = DatabaseState({}, {}, [])
        self.snapshots = {name: {1} for name in MATERIALIZED}
        for number, name in enumerate(STEADY):
            self.add_attempt("create", name=name, token=f"9-{number}", uuid=f"u-{name}", version=1)
            self.set_state(name, f"u-{name}", [f"9-{number}"])
        for name in MATERIALIZED:
            self.set_state(name, f"u-{name}", ["9-9"])
            self.add_attempt("refresh", name=name, staged=1, snapshot=1, rows=10)

        self.add_attempt("create", name="m_0", token="1-1", uuid="moved", version=1)
        self.add_attempt("replace", name="m_0", token="1-2", uuid="moved", version=2)
        self.add_attempt("properties", name="m_0", uuid="moved")
        self.add_attempt("rollback", name="m_0", uuid="moved", changes=True)
        self.add_attempt("rename", name="m_0", target="m_1", uuid="moved")
        self.add_attempt("load", name="m_1", uuid="moved", versions=2)
        self.add_attempt("list", names=[*STEADY, *MATERIALIZED, "m_1"])
        self.counter_value = self.find("properties").number
        self.set_state(
            "m_1", "moved", ["1-1", "1-2"], number=3, log=(1, 2, 1), properties={counter(1): str(self.counter_value)}
        )

        self.add_attempt("create", name="m_2", token="1-3", uuid="dropped", version=1)
        dropped_file = self.set_state("m_2", "dropped", ["1-3"])
        del self.state.rows["m_2"]
        self.add_attempt("drop", name="m_2", location=str(dropped_file.path))

    def add_attempt(self, operation: str, outcome: Outcome = APPLIED, **details: object) -> Attempt:
        """Add an operation after all earlier ones."""
        number = len(self.attempts) + 1
        end = FOREVER if outcome is Outcome.INTERRUPTED else 10 * number + 5
        attempt = Attempt(1, number, operation, 10 * number, end, outcome, dict(details))
        self.attempts.append(attempt)
        return attempt

    def find(self, operation: str, **details: object) -> Attempt:
        return next(
            item for item in self.attempts if item.operation == operation and details.items() <= item.details.items()
        )

    def set_state(
        self,
        name: str,
        uuid: str,
        tokens: list[str],
        *,
        number: int = 0,
        log: tuple[int, ...] | None = None,
        properties: dict[str, str] | None = None,
    ) -> File:
        """Set the state of a view, with files of its earlier states."""
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
        self.state.rows[name] = {
            "tableName": name,
            "viewExpandedText": file.current,
            "parameters": {"uuid": uuid, "metadata_location": str(file.path)},
        }
        self.state.files_by_path[file.path] = file
        self.state.files[uuid] = [replace(file, number=at) for at in range(number)] + [file]
        return file

    def violations(self) -> list[str]:
        return check(self.attempts, self.state, self.snapshots, 10).violations


def test_correct_history_has_no_violations() -> None:
    assert Scenario().violations() == []


def _lose_a_version(scenario: Scenario) -> None:
    scenario.set_state(
        "m_1", "moved", ["1-1"], number=2, log=(1, 1), properties={counter(1): str(scenario.counter_value)}
    )


def _lose_a_view(scenario: Scenario) -> None:
    del scenario.state.rows["m_1"]


def _keep_a_dropped_view(scenario: Scenario) -> None:
    scenario.set_state("m_2", "dropped", ["1-3"])


def _apply_a_rejected_replace(scenario: Scenario) -> None:
    scenario.find("replace").outcome = REJECTED


def _lose_a_property(scenario: Scenario) -> None:
    scenario.set_state("m_1", "moved", ["1-1", "1-2"], number=2, log=(1, 2, 1))


def _lose_a_rollback(scenario: Scenario) -> None:
    properties = {counter(1): str(scenario.counter_value)}
    scenario.set_state("m_1", "moved", ["1-1", "1-2"], number=2, log=(1, 2), properties=properties)


def _apply_a_rejected_rollback(scenario: Scenario) -> None:
    scenario.find("rollback").outcome = REJECTED


def _apply_a_rejected_property(scenario: Scenario) -> None:
    scenario.find("properties").outcome = REJECTED


def _undo_a_rename(scenario: Scenario) -> None:
    scenario.state.rows["m_0"] = {**scenario.state.rows.pop("m_1"), "tableName": "m_0"}


def _read_an_old_state(scenario: Scenario) -> None:
    scenario.find("load").details["versions"] = 1


def _omit_a_view_from_a_list(scenario: Scenario) -> None:
    scenario.find("list").details["names"].remove(STEADY[0])


def _lose_a_refresh(scenario: Scenario) -> None:
    scenario.snapshots[MATERIALIZED[0]] = set()


def _apply_a_rejected_refresh(scenario: Scenario) -> None:
    scenario.find("refresh").outcome = REJECTED


def _lose_rows(scenario: Scenario) -> None:
    scenario.find("refresh").details["rows"] = 9


def _lose_a_file(scenario: Scenario) -> None:
    scenario.state.files_by_path.pop(Path("/moved-3"))


def _damage_a_row(scenario: Scenario) -> None:
    scenario.state.rows["m_1"]["viewExpandedText"] = text("1-2")


def _add_an_unknown_text(scenario: Scenario) -> None:
    scenario.set_state(STEADY[0], f"u-{STEADY[0]}", ["9-0", "unknown"], number=1)


def _raise_an_unexpected_error(scenario: Scenario) -> None:
    scenario.add_attempt("load", Outcome.INTERRUPTED, name="m_1", died="KeyError")


def _miss_a_permanent_view(scenario: Scenario) -> None:
    scenario.add_attempt("load", REJECTED, name=STEADY[0], error="NoSuchViewError")


def _read_a_missing_file(scenario: Scenario) -> None:
    scenario.add_attempt("load", REJECTED, name="m_1", error="MetadataFileNotFoundError")


def _add_an_unexpected_file(scenario: Scenario) -> None:
    scenario.state.unexpected_files.append(Path("/half.tmp"))


DEFECTS: list[Callable[[Scenario], None]] = [
    _lose_a_version,
    _lose_a_view,
    _keep_a_dropped_view,
    _apply_a_rejected_replace,
    _lose_a_property,
    _lose_a_rollback,
    _apply_a_rejected_rollback,
    _apply_a_rejected_property,
    _undo_a_rename,
    _read_an_old_state,
    _omit_a_view_from_a_list,
    _lose_a_refresh,
    _apply_a_rejected_refresh,
    _lose_rows,
    _lose_a_file,
    _damage_a_row,
    _add_an_unknown_text,
    _raise_an_unexpected_error,
    _miss_a_permanent_view,
    _read_a_missing_file,
    _add_an_unexpected_file,
]


@pytest.mark.parametrize("inject_defect", DEFECTS, ids=lambda inject_defect: inject_defect.__name__.strip("_"))
def test_violations_are_detected(inject_defect: Callable[[Scenario], None]) -> None:
    scenario = Scenario()
    inject_defect(scenario)
    assert scenario.violations()


@pytest.mark.parametrize("outcome", [UNKNOWN, Outcome.INTERRUPTED])
def test_unknown_outcomes_may_be_applied_or_not(outcome: Outcome) -> None:
    for change, details in {
        "create": {"name": "m_3", "token": "2-1"},
        "replace": {"name": "m_1", "token": "2-1"},
        "rename": {"name": "m_1", "target": "m_4"},
        "drop": {"name": "m_1"},
    }.items():
        applied, not_applied = Scenario(), Scenario()
        for scenario in (applied, not_applied):
            scenario.add_attempt(change, outcome, **details)
        if change == "create":
            applied.set_state("m_3", "new", ["2-1"])
        elif change == "replace":
            properties = {counter(1): str(applied.counter_value)}
            applied.set_state("m_1", "moved", ["1-1", "1-2", "2-1"], number=4, log=(1, 2, 1, 3), properties=properties)
        elif change == "rename":
            applied.state.rows["m_4"] = {**applied.state.rows.pop("m_1"), "tableName": "m_4"}
        else:
            del applied.state.rows["m_1"]
        assert applied.violations() == not_applied.violations() == []


def test_ledger_returns_recorded_outcomes(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with ledger.attempt(1, 1, "load", name="m_0") as result:
        result["versions"] = 3
    with pytest.raises(ZeroDivisionError), ledger.attempt(2, 1, "load", name="m_0"):
        raise ZeroDivisionError
    ledger.note(2, 1, event="rejected", error="E")
    ledger.note(2, 2, event="try", operation="list")
    first, second, third = read_ledgers(tmp_path)
    assert (first.outcome, first.details) == (APPLIED, {"name": "m_0", "versions": 3})
    assert (second.outcome, second.get("error")) == (REJECTED, "E")
    assert (third.outcome, third.end, third.operation) == (Outcome.INTERRUPTED, FOREVER, "list")
    assert first.start < first.end < second.start < second.end < third.start
