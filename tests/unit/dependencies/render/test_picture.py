"""How the objects of a picture stand: by their own check, and by what they read."""

import pytest
from hypothesis import given

from hive_views.dependencies.graph import Edge, Graph, Node
from hive_views.dependencies.lineage import DependencyState, Lineage, LineageOrigin
from hive_views.dependencies.render import Standing, make_picture
from hive_views.identifiers import ViewName
from hive_views.spec.lineage_codec import Dependency, ObjectKind
from hive_views.sql.analysis.validity import CheckedView, Validity
from tests.unit.dependencies.render.graphs import graph, graphs, invalid, valid


def standings(picture):
    return {name.name: box.standing.value for name, box in picture.boxes.items()}


def reasons(picture, name):
    return picture.boxes[ViewName("d", name)].reasons


def test_unchecked_picture_shows_missing_objects():
    picture = make_picture(graph({"a": ["t"], "b": ["gone"], "c": ["a"], "e": ["b"]}, gone=None))
    assert standings(picture) == {
        "a": "unchecked",
        "b": "invalid",
        "c": "unchecked",
        "e": "blocked",
        "gone": "missing",
        "t": "unchecked",
    }
    assert reasons(picture, "b") == ("d.gone is missing",)
    assert reasons(picture, "e") == ("it reads d.b, which is invalid: d.gone is missing",)


@pytest.mark.parametrize("validity", Validity)
def test_standing_follows_check_result(validity):
    check = [invalid("a", "why", validity)] if validity is not Validity.VALID else valid("a")
    picture = make_picture(graph({"a": ["t"]}), check)
    assert standings(picture) == {"a": validity.value, "t": "unchecked"}
    assert reasons(picture, "a") == (() if validity is Validity.VALID else ("line 1:15: why",))


def test_reasons_include_minor_problems():
    check = CheckedView(
        ViewName("d", "a"),
        (*invalid("a", "one").problems, *invalid("a", "other", Validity.OUTDATED).problems),
    )
    assert reasons(make_picture(graph({"a": ["t"]}), [check]), "a") == ("line 1:15: one", "line 1:15: outdated: other")


def test_views_over_broken_view_are_blocked_at_any_distance():
    reads = {"bad": ["t"], "over": ["bad"], "top": ["over", "fine"], "fine": ["t"]}
    picture = make_picture(graph(reads), [invalid("bad"), *valid("over", "top", "fine")])
    assert standings(picture) == {
        "bad": "invalid",
        "fine": "valid",
        "over": "blocked",
        "t": "unchecked",
        "top": "blocked",
    }
    assert reasons(picture, "top") == (
        "it reads d.over, which is blocked by d.bad, which is invalid: line 1:15: no such table",
    )


def test_outdated_view_over_broken_view_reports_both():
    picture = make_picture(
        graph({"bad": ["t"], "over": ["bad"]}), [invalid("bad"), invalid("over", "old", Validity.OUTDATED)]
    )
    assert picture.boxes[ViewName("d", "over")].standing is Standing.BLOCKED
    assert reasons(picture, "over") == (
        "it reads d.bad, which is invalid: line 1:15: no such table",
        "line 1:15: outdated: old",
    )


def test_cycle_members_are_invalid():
    picture = make_picture(graph({"a": ["b"], "b": ["a"], "c": ["a"], "own": ["own"]}), valid("a", "b", "c", "own"))
    assert standings(picture) == {"a": "invalid", "b": "invalid", "c": "blocked", "own": "invalid"}
    assert reasons(picture, "a") == ("it reads itself: d.a, d.b read each other",)


def test_view_with_unknown_dependencies_has_unknown_standing():
    name = ViewName("d", "v")
    lineage = Lineage(name, (), LineageOrigin.NONE, problem="no text")
    picture = make_picture(Graph({name: Node(name, ObjectKind.VIEW, None, lineage)}, ()))
    assert (picture.boxes[name].standing, picture.boxes[name].reasons) == (Standing.UNKNOWN, ("no text",))


def test_renamed_and_replaced_dependencies_are_reasons():
    view, now, other = (ViewName("d", name) for name in ("v", "now", "other"))
    edges = (
        Edge(view, Dependency(ViewName("d", "old"), "", ObjectKind.TABLE), DependencyState.RENAMED, now),
        Edge(view, Dependency(other, "", ObjectKind.TABLE), DependencyState.REPLACED, other),
    )
    kinds = {view: ObjectKind.VIEW, now: ObjectKind.TABLE, other: ObjectKind.TABLE}
    picture = make_picture(Graph({name: Node(name, kind, None) for name, kind in kinds.items()}, edges))
    assert picture.boxes[view].standing is Standing.INVALID
    assert picture.boxes[view].reasons == (
        "d.old, which its text names, is d.now now",
        "d.other is another object than when the view was defined",
    )


@given(graphs())
def test_picture_has_box_per_node_and_arrow_per_pair(check):
    picture = make_picture(check)
    assert list(picture.boxes) == sorted(check.nodes)
    assert [box.name for boxes in picture.databases().values() for box in boxes] == sorted(check.nodes)
    arrows = [(edge.view, edge.target) for edge in picture.arrows()]
    assert len(arrows) == len(set(arrows))
    assert set(arrows) == {(edge.view, edge.target) for edge in check.edges}
