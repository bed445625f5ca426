"""The report's page in a real browser: 2,000 views are quick to scan_row through, and every text stays a text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportOutcome, ImportStatus
from hive_views.legacy_import.legacy_view import Reason, Writer
from hive_views.legacy_import.plan import PlanEntry, PlanStatus
from hive_views.legacy_import.report.report import ImportReport, ReportEntry, render_report_page, report_data
from tests.unit.dependencies.render.graphs import HOSTILE

VIEWS = 2000
SHOWN = "return [...document.querySelectorAll('.row')].map((row) => Number(row.dataset.number))"
COUNT = "return document.getElementById('count').textContent"
TYPE = """const box = document.getElementById(arguments[0]); box.value = arguments[1];
box.dispatchEvent(new Event(box.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}))"""
KEY = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))"
CLICK = "document.querySelector(arguments[0]).click()"
FRAME = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"


def line(number: int) -> ReportEntry:
    """Views in three databases: every tenth is refused, the one behind it blocked, every fifth is Trino's."""
    name = ViewName(("sales", "hr", "web")[number % 3], f"view_{number:04d}")
    dialect = "trino" if number % 5 == 0 else "hive" if number % 2 else "spark"
    old = f"SELECT o.id, o.amount * {number} AS total\nFROM orders o\nWHERE o.day > '2024-01-01'"
    new = old.replace("orders o", f"`{name.database}`.`orders` `o`")
    entry = PlanEntry(
        name=name,
        target=name if number % 7 else ViewName("new", name.name),
        writer=Writer(dialect),
        dialect=dialect,
        status=PlanStatus.READY,
        fingerprint="x",
        level=number % 4,
        reads=(ViewName(name.database, "orders"),),
        old_original=old if number % 2 else f"select * from orders -- {number}",
        old_text=old,
        new_text=new if number % 3 else old,
        changes=("column code changes from varchar(10) to string",) if number % 4 == 0 else (),
    )
    outcome = ImportOutcome(
        name=name, target=entry.target, status=ImportStatus.CONVERTED, seconds=0.02 + number / 1e4, writing=0.015
    )
    if number % 10 == 3:
        text = f"{name} reads {name.database}.gone_{number}, which is not there"
        outcome = ImportOutcome(
            name=name, target=entry.target, status=ImportStatus.REFUSED, reason=Reason.MISSING_TABLE, text=text
        )
    if number % 10 == 4:
        below = line(number - 1).entry.name
        text = f"it reads {below}, and {below} was not converted"
        outcome = ImportOutcome(
            name=name,
            target=entry.target,
            status=ImportStatus.BLOCKED,
            reason=Reason.BLOCKED,
            text=text,
            blocked_by=below,
        )
    return ReportEntry(entry, outcome)


@pytest.fixture(scope="module")
def report() -> ImportReport:
    return ImportReport(entries=tuple(line(number) for number in range(VIEWS)), cycles=(("a.b", "a.c"),))


@pytest.fixture(scope="module")
def text(report: ImportReport) -> str:
    compared = {report.entries[1].entry.name: "the same 12 rows"}
    return render_report_page(replace(report, check_results=compared), "plan.json.journal")


def test_only_visible_lines_have_elements(browser, text):
    browser.requests()  # those of Chromium's own first page
    browser.open(text)
    assert browser.run(COUNT) == "2,000 views"
    assert browser.run(SHOWN)[:3] == [0, 1, 2]
    assert len(browser.run(SHOWN)) < 80
    assert browser.run("return document.querySelectorAll('*').length") < 1000
    browser.run("document.getElementById('scroll').scrollTop = 1e9")
    browser.driver.execute_async_script(FRAME)
    assert browser.run(SHOWN)[-1] == VIEWS - 1
    assert len(browser.run(SHOWN)) < 80
    assert browser.console() == []
    assert [url.rpartition("/")[2] for url in browser.requests()] == ["page.html"]


def test_filters_combine_and_can_be_cleared(browser, text, report):
    browser.open(text)
    views = [(number, item.entry, item.outcome) for number, item in enumerate(report.entries)]

    def expected(condition):
        return [number for number, entry, outcome in views if condition(entry, outcome)]

    browser.run(CLICK, "[data-status=refused]")
    some = expected(lambda _, outcome: outcome.status is ImportStatus.REFUSED)
    assert browser.run(COUNT) == f"{len(some)} of 2,000 views"
    assert browser.run(SHOWN) == some[: len(browser.run(SHOWN))]
    browser.run(CLICK, "[data-status=blocked]")
    assert browser.run(COUNT) == "400 of 2,000 views"
    browser.run(TYPE, "database", "=hr")
    browser.run(TYPE, "dialect", "=hive")
    some = expected(
        lambda entry, outcome: (
            outcome.status is not ImportStatus.CONVERTED and entry.name.database == "hr" and entry.dialect == "hive"
        )
    )
    assert browser.run(COUNT) == f"{len(some)} of 2,000 views"
    browser.run(TYPE, "search", "GONE_10")
    some = [number for number in some if "gone_10" in (report.entries[number].outcome.text or "")]
    assert len(some) > 1
    assert browser.run(SHOWN) == some
    browser.run(TYPE, "search", "nothing is like this")
    assert browser.run("return document.getElementById('nothing').checkVisibility()")
    browser.run(CLICK, "#clear")
    assert browser.run(COUNT) == "2,000 views"
    assert not browser.run("return document.getElementById('nothing').checkVisibility()")
    browser.run(TYPE, "order", "slow")
    slowest = sorted(range(VIEWS), key=lambda number: (-report.entries[number].outcome.seconds, number))
    assert browser.run(SHOWN)[:20] == slowest[:20]


def test_view_shows_its_difference_and_its_blocker(browser, text, report):
    browser.open(text, fragment="#hr.view_0004")
    details = "return document.getElementById('details').innerText"
    assert "blocked: reads a view that is not converted" in browser.run(details)
    browser.run(CLICK, "#details a.name")
    assert "sales.gone_3, which is not there" in browser.run(details)
    assert browser.run("return document.querySelector('[aria-selected=true]').dataset.number") == "3"
    browser.run(KEY, "Escape")
    assert browser.run("return document.getElementById('details').hidden")
    browser.run(KEY, "ArrowDown")
    browser.run(KEY, "ArrowDown")
    pieces = report.entries[1].diff()
    assert pieces
    shown = "return [...document.querySelectorAll(arguments[0])].map((item) => item.textContent).join('|')"
    assert browser.run(shown, "#difference del") == "|".join(piece for kind, piece in pieces if kind == "-")
    assert browser.run(shown, "#difference ins") == "|".join(piece for kind, piece in pieces if kind == "+")
    assert browser.run(shown, "#compared") == "the same 12 rows"
    browser.run(CLICK, "#side-by-side")
    assert (
        browser.run(shown, "#difference pre")
        == f"{report.entries[1].entry.old_text}|{report.entries[1].entry.new_text}"
    )
    browser.run(KEY, "Escape")
    browser.run(TYPE, "search", "view_0000")
    browser.run(KEY, "ArrowDown")
    assert browser.run(shown, "#old") == report.entries[0].entry.old_text


def test_hostile_texts_are_escaped(browser):
    lines = []
    for number, bad in enumerate(HOSTILE):
        name = ViewName(bad, bad)
        entry = PlanEntry(
            name=name,
            target=name,
            writer=Writer.HIVE,
            dialect=bad,
            status=PlanStatus.READY,
            fingerprint=bad,
            reads=(name,),
            changes=(bad,),
        )
        entry = replace(entry, old_text=f"SELECT {bad}", new_text=f"SELECT {bad} {bad}")
        status = ImportStatus.REFUSED if number % 2 else ImportStatus.CONVERTED
        lines.append(
            ReportEntry(
                entry,
                ImportOutcome(
                    name=name, target=name, status=status, reason=Reason.UNREADABLE, text=bad, metadata_location=bad
                ),
            )
        )
    report = ImportReport(entries=tuple(lines), cycles=(tuple(HOSTILE),))
    report = replace(report, check_results={lines[0].entry.name: HOSTILE[4]})
    browser.open(render_report_page(report, "</title><script>window.escaped=1</script>"))
    views = report_data(report, "")["views"]
    for number in range(len(HOSTILE)):
        browser.run(KEY, "ArrowDown")
        assert views[number]["name"] in browser.run("return document.querySelector('#details h2').textContent")
        shown = browser.run("return document.getElementById('difference').textContent")
        assert shown == "".join(text for _, text in views[number]["pieces"])
    for value in browser.run("return [...document.getElementById('dialect').options].map((item) => item.value)"):
        browser.run(TYPE, "dialect", value)
        assert browser.run(SHOWN)
    assert browser.run("return window.escaped") is None
    assert browser.run("return document.querySelectorAll('img, script').length") == 2
    assert browser.console() == []


def test_empty_report_shows_a_message(browser):
    browser.open(render_report_page(ImportReport(entries=(), cycles=()), "nothing"))
    assert browser.run(COUNT) == "0 views"
    assert browser.run("return document.getElementById('nothing').checkVisibility()")
    assert browser.console() == []


def test_report_page_renders(browser, text, tmp_path: Path):
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(text, fragment="#web.view_0008")
        wide = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert browser.run(wide)
        assert browser.driver.save_screenshot(str(tmp_path / f"{scheme}.png"))
