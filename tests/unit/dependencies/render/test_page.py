"""The HTML page in a real browser: layout, search, highlights, and hostile names."""

import dataclasses
import json
import random
from xml.etree import ElementTree

import pytest

from hive_views.dependencies.columns import ColumnName
from hive_views.dependencies.render import Standing, html, make_picture
from hive_views.dependencies.render.page import page_data
from hive_views.identifiers import ViewName
from hive_views.rendering.html_page import part
from hive_views.sql.analysis.validity import CheckedView, Validity, ViewProblem
from tests.unit.dependencies.render.graphs import HOSTILE, graph, hostile, invalid, valid, warehouse

BOXES = """return [...document.querySelectorAll("#nodes .node")].map((node) => {
  const { x, y, width, height } = node.getBBox();
  const [, left, top] = /translate\\(([-\\d.e]+),([-\\d.e]+)\\)/.exec(node.getAttribute("transform")).map(Number);
  return [Number(node.dataset.node), left + x, top + y, width, height];
})"""

CLASSES = """return [...document.querySelectorAll(arguments[0])].filter((node) => node.classList.contains(arguments[1]))
  .map((node) => Number(node.dataset.node))"""


def overlapping(boxes):
    """Return the pairs of rectangles that overlap."""
    pairs = []
    for place, (one, left, top, width, height) in enumerate(boxes):
        for other, x, y, w, h in boxes[place + 1 :]:
            if left < x + w and x < left + width and top < y + h and y < top + height:
                pairs.append((one, other))
    return pairs


def pressed(browser, *keys):
    for key in keys:
        browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))", key)


def typed(browser, text):
    browser.run(
        "const field = document.getElementById('search'); field.value = arguments[0];"
        "field.dispatchEvent(new Event('input', {bubbles: true}))",
        text,
    )


def click(browser, selector):
    browser.run(
        "document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))", selector
    )


def listed(browser):
    return browser.run("return [...document.querySelectorAll('#list .label')].map((item) => item.textContent)")


@pytest.fixture(scope="module")
def large():
    """200 views over 40 tables, some of them broken."""
    graph_of_views = warehouse(200)
    views = [name for name, node in graph_of_views.nodes.items() if node.kind.is_view]
    assert len(views) == 200
    pick = random.Random(3)
    checks = [
        CheckedView(name, (ViewProblem(Validity.INVALID, "no column x", 1, 8),) if pick.random() < 0.05 else ())
        for name in views
    ]
    return make_picture(graph_of_views, checks)


def test_page_draws_200_views_readably_without_overlap(browser, large):
    browser.requests()
    browser.open(html(large))
    assert browser.console() == []
    assert len(browser.requests()) == 1
    boxes = browser.run(BOXES)
    assert len(boxes) == len(large.boxes)
    assert overlapping(boxes) == []
    scale = browser.run("return state.scale")
    assert 13 * scale >= 8, "labels, in pixels"
    drawn = browser.run("return document.querySelectorAll('#edges .edge').length")
    assert drawn == len(list(large.arrows()))
    names = browser.run("return [...document.querySelectorAll('#nodes .node > text')].map((text) => text.textContent)")
    assert names == [str(name) for name in large.boxes]
    outside = browser.run(
        """return [...document.querySelectorAll("#nodes .node")].filter((node) =>
        node.querySelector("text").getBBox().width + 31 > node.querySelector(".box").getBBox().width).length"""
    )
    assert outside == 0, "labels wider than their boxes"


def large_graph(views):
    """A picture of many views in five databases, each with two columns computed from columns of what it reads."""
    picture = make_picture(warehouse(views))
    boxes = {}
    for name, box in picture.boxes.items():
        reads = picture.graph.dependencies(name)
        sources = {column: tuple(ColumnName(other, column) for other in reads) for column in ("a", "b") if reads}
        boxes[name] = dataclasses.replace(
            box, columns=(("a", "bigint", None), ("B", "string", None)), column_sources=sources
        )
    return dataclasses.replace(picture, boxes=boxes)


def drawn(browser):
    return [box[0] for box in browser.run(BOXES)]


@pytest.mark.parametrize("views", [1000, pytest.param(10_000, marks=pytest.mark.extended)])
def test_large_page_opens_on_databases_and_draws_parts(browser, views):
    picture = large_graph(views)
    browser.driver.set_script_timeout(300)
    browser.open(html(picture))
    names = list(picture.boxes)
    databases = browser.run("return [...document.querySelectorAll('#nodes .database')].map((box) => box.textContent)")
    for text, (database, boxes) in zip(databases, picture.databases().items(), strict=True):
        assert text.endswith(f"{database} {len(boxes)}")
    typed(browser, str(names[-1]))
    assert listed(browser)[0] == str(names[-1])
    click(browser, "#list [data-number]")
    graph_of = picture.graph
    near = {names[-1]}
    for neighbors in (graph_of.dependencies, graph_of.dependents):
        direct = set(neighbors(names[-1]))
        near |= direct | {other for name in direct for other in neighbors(name)}
    assert {names[number] for number in drawn(browser)} == near
    assert overlapping(browser.run(BOXES)) == []
    assert browser.run("return document.getElementById('levels-up').value") == "2"
    click(browser, "#databases")
    click(browser, "#nodes [data-database='mart']")
    shown = {names[number] for number in drawn(browser)}
    assert any(name.database == "mart" for name in shown)
    assert len(shown) <= 400
    click(browser, "#only button")
    assert len(drawn(browser)) == len(names)
    assert browser.run("return document.querySelectorAll('#edges .edge').length") == len(list(picture.arrows()))
    assert browser.console() == []


def test_large_database_opens_on_objects_near_the_worst(browser):
    reads = {f"v{number}": [f"v{number - 1}" if number % 50 else "t"] for number in range(500)}
    picture = make_picture(graph(reads), [invalid("v77")])
    browser.open(html(picture))
    names = [name.name for name in picture.boxes]
    shown = {names[number] for number in drawn(browser)}
    assert {"v75", "v76", "v77", "v78"} <= shown
    assert len(shown) == 120
    assert browser.run("return document.getElementById('only').textContent").startswith("120 of 501 objects")


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        ("+c", "a b c"),
        ("1+d.C", "b c"),
        ("b+1", "b c x"),
        ("1+c+", "b c d"),
        ("b+", "b c d x"),
        ("0+c", "c"),
        ("+x*", "a b x"),
        ("+nothing", None),
    ],
)
def test_selector_shows_levels_around_objects(browser, selector, shown):
    picture = make_picture(graph({"b": ["a"], "c": ["b"], "d": ["c"], "x": ["b"]}))
    browser.open(html(picture))
    typed(browser, selector)
    names = [name.name for name in picture.boxes]
    expected = set(shown.split()) if shown else set()
    assert {name.partition(".")[2] for name in listed(browser)} == expected
    browser.run(
        "document.getElementById('search').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"
    )
    assert {names[number] for number in drawn(browser)} == (expected or set(names))


def test_levels_of_selected_object_are_chosen(browser):
    picture = make_picture(graph({"b": ["a"], "c": ["b"], "d": ["c"], "e": ["d"]}))
    browser.open(html(picture), fragment="#d.c")
    change = (
        "const picker = document.getElementById(arguments[0]); picker.value = arguments[1];"
        "picker.dispatchEvent(new Event('change'))"
    )
    browser.run(change, "levels-up", "1")
    browser.run(change, "levels-down", "1")
    names = [name.name for name in picture.boxes]
    assert [names[number] for number in drawn(browser)] == ["b", "c", "d"]
    assert browser.run("return document.getElementById('levels-up').value") == "1"


def test_lineage_of_column_is_drawn(browser):
    picture = large_graph(200)
    browser.open(html(picture))
    names = list(picture.boxes)
    graph_of = picture.graph
    view = next(name for name in names if name.database == "core" and graph_of.dependents(name))
    browser.run("select(arguments[0])", names.index(view))
    click(browser, "#details button.column[data-column='1']")
    involved = {view, *graph_of.upstream(view), *graph_of.downstream(view)}
    columns = browser.run(
        "return [...document.querySelectorAll('#nodes .column > title')].map((title) => title.textContent)"
    )
    assert sorted(columns) == sorted(f"{name}.B" for name in involved)
    assert browser.run("return document.querySelector('#nodes .column.chosen title').textContent") == f"{view}.B"
    arrows = browser.run(
        "return [...document.querySelectorAll('#edges .edge')]"
        ".map((edge) => [edge.dataset.fromColumn, edge.dataset.toColumn])"
    )
    up, down = {view, *graph_of.upstream(view)}, {view, *graph_of.downstream(view)}
    expected = {
        (f"{edge.target}.B", f"{edge.view}.B")
        for edge in picture.arrows()
        if {edge.view, edge.target} <= up or {edge.view, edge.target} <= down
    }
    assert {tuple(arrow) for arrow in arrows} == expected
    base = next(name for name in graph_of.upstream(view) if not graph_of.dependencies(name))
    number = names.index(base)
    click(browser, f"#nodes text.column[data-object='{number}']")
    assert browser.run("return document.querySelector('#details h2').textContent") == str(base)
    click(browser, f"#nodes .node[data-object='{number}'] .box")
    assert len(drawn(browser)) == len(names)
    assert browser.console() == []


def test_picture_is_saved_as_svg_and_png(browser, large):
    browser.open(html(large))
    svg = browser.run("return pictureAsSvg()")
    root = ElementTree.fromstring(svg)
    labels = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {str(name) for name in large.boxes} <= labels
    assert "var(" not in svg
    size, kind, width, height = browser.driver.execute_async_script(
        """const done = arguments[0];
        pictureAsPng().then(async (blob) => {
          const { width, height } = await createImageBitmap(blob);
          done([blob.size, blob.type, width, height]);
        }, (error) => done(String(error)))"""
    )
    assert (kind, size > 10_000) == ("image/png", True)
    assert (width / height) == pytest.approx(float(root.attrib["width"]) / float(root.attrib["height"]), rel=0.01)
    assert browser.console() == []


def test_fit_shows_whole_graph(browser, large):
    browser.open(html(large))
    click(browser, "#fit")
    outside = browser.run(
        """const stage = document.getElementById("stage").getBoundingClientRect();
        return [...document.querySelectorAll("#nodes .node")].filter((node) => {
          const box = node.getBoundingClientRect();
          return box.left < stage.left || box.right > stage.right || box.top < stage.top || box.bottom > stage.bottom;
        }).length"""
    )
    assert outside == 0


def test_click_highlights_upstream_and_downstream(browser, large):
    browser.open(html(large))
    names = list(large.boxes)
    for number in range(0, len(names), 17):
        click(browser, f"#nodes [data-node='{number}']")
        up = {names[other] for other in browser.run(CLASSES, "#nodes .node", "up")}
        down = {names[other] for other in browser.run(CLASSES, "#nodes .node", "down")}
        faded = {names[other] for other in browser.run(CLASSES, "#nodes .node", "faded")}
        assert up == set(large.graph.upstream(names[number]))
        assert down == set(large.graph.downstream(names[number]))
        assert faded == set(names) - up - down - {names[number]}
        assert browser.run("return document.querySelector('#details h2').textContent") == str(names[number])
    pressed(browser, "Escape")
    assert browser.run(CLASSES, "#nodes .node", "faded") == []
    assert browser.run("return document.getElementById('details').hidden")


def test_search_filters_objects_by_name(browser, large):
    browser.open(html(large))
    assert len(listed(browser)) == len(large.boxes)
    typed(browser, "MART by_region")
    expected = {str(name) for name in large.boxes if name.database == "mart" and "by_region" in name.name}
    assert expected
    assert set(listed(browser)) == expected
    kept = set(range(len(large.boxes))) - set(browser.run(CLASSES, "#nodes .node", "faded"))
    assert {str(list(large.boxes)[number]) for number in kept} == expected
    typed(browser, "no such thing")
    assert listed(browser) == []
    typed(browser, "")
    assert len(listed(browser)) == len(large.boxes)


def test_search_finds_texts_and_columns(browser):
    picture = make_picture(graph({"v": ["t"], "w": ["t"]}))
    boxes = dict(picture.boxes)
    view, table = ViewName("d", "v"), ViewName("d", "t")
    boxes[view] = dataclasses.replace(boxes[view], typed="SELECT discount FROM t")
    boxes[table] = dataclasses.replace(boxes[table], columns=(("discount_rate", "double", "in percent"),))
    browser.open(html(dataclasses.replace(picture, boxes=boxes)))
    typed(browser, "discount")
    assert listed(browser) == ["d.t", "d.v"]
    typed(browser, "percent")
    assert listed(browser) == ["d.t"]


def test_filter_shows_objects_of_standing(browser, large):
    browser.open(html(large))
    click(browser, "#filters [data-standing='invalid']")
    click(browser, "#filters [data-standing='blocked']")
    expected = {str(name) for name, box in large.boxes.items() if box.standing in (Standing.INVALID, Standing.BLOCKED)}
    assert set(listed(browser)) == expected
    click(browser, "#filters [data-standing='invalid']")
    click(browser, "#filters [data-standing='blocked']")
    assert len(listed(browser)) == len(large.boxes)


def test_connected_objects_are_shown_alone(browser, large):
    browser.open(html(large))
    names = list(large.boxes)
    number = next(place for place, name in enumerate(names) if name.database == "core" and large.graph.dependents(name))
    click(browser, f"#nodes [data-node='{number}']")
    click(browser, "#narrow")
    boxes = browser.run(BOXES)
    graph_of = large.graph
    expected = {names[number], *graph_of.upstream(names[number]), *graph_of.downstream(names[number])}
    assert {names[box[0]] for box in boxes} == expected
    assert overlapping(boxes) == []
    click(browser, "#only button")
    assert len(browser.run(BOXES)) == len(names)


def test_details_show_texts_and_columns_of_view(browser):
    picture = make_picture(
        graph({"v": ["t", "gone"], "w": ["v"]}, gone=None), [invalid("v", "no table gone"), *valid("w")]
    )
    boxes = dict(picture.boxes)
    name = ViewName("d", "v")
    boxes[name] = dataclasses.replace(
        boxes[name],
        typed="SELECT *\nFROM t",
        expanded="SELECT `t`.`a` FROM `d`.`t`",
        columns=(("a", "bigint", "the <b>number</b>"),),
    )
    browser.open(html(dataclasses.replace(picture, boxes=boxes)), fragment="#d.v")
    details = browser.run("return document.getElementById('details').innerText")
    for text in (
        "d.v",
        "invalid",
        "line 1:15: no table gone",
        "SELECT *\nFROM t",
        "`t`.`a`",
        "the <b>number</b>",
        "bigint",
    ):
        assert text in details
    assert browser.run("return document.querySelectorAll('#details b').length") == 0
    neighbors = browser.run(
        "return [...document.querySelectorAll('#details .item .label')].map((item) => item.textContent)"
    )
    assert neighbors == ["d.t", "d.gone", "d.w"]
    click(browser, "#details .item[data-number='0']")
    assert browser.run("return document.querySelector('#details h2').textContent") == "d.gone"
    assert browser.run("return decodeURIComponent(location.hash)") == "#d.gone"


def test_hostile_names_stay_text(browser):
    hostile_graph = hostile()
    picture = make_picture(hostile_graph, title="</title></script><script>window.escaped=1</script>")
    texts = HOSTILE[:-1]
    boxes = {
        name: dataclasses.replace(
            box,
            reasons=(*box.reasons, *texts),
            typed="\n".join(texts),
            expanded=" ".join(texts),
            columns=tuple((text, text, text) for text in texts),
        )
        for name, box in picture.boxes.items()
    }
    picture = dataclasses.replace(picture, boxes=boxes)
    document = html(picture)
    assert "<script>window.escaped" not in document
    browser.requests()
    browser.open(document)
    elements = browser.run("return [document.scripts.length, document.images.length]")
    assert elements == [2, 0]
    for number in range(len(boxes)):
        click(browser, f"#nodes [data-node='{number}']")
        box = page_data(picture)["nodes"][number]
        shown = browser.run("return document.querySelector('#details h2').textContent")
        assert shown == f"{box['database']}.{box['name']}"
        assert browser.run("return document.getElementById('typed').textContent") == box["typed"]
    assert browser.run("return [document.scripts.length, document.images.length, window.escaped ?? null]") == [
        2,
        0,
        None,
    ]
    assert browser.run("return document.title") == picture.title
    assert browser.console() == []
    assert len(browser.requests()) == 1
    assert overlapping(browser.run(BOXES)) == []


def test_page_of_empty_graph(browser):
    browser.open(html(make_picture(graph({}))))
    assert not browser.run("return document.getElementById('nothing').hidden")
    assert browser.console() == []


def test_keys_zoom_and_select(browser):
    browser.open(html(make_picture(graph({"v": ["t"]}))))
    before = browser.run("return state.scale")
    pressed(browser, "+")
    assert browser.run("return state.scale") > before
    pressed(browser, "-", "-")
    assert browser.run("return state.scale") < before
    browser.run(
        "const key = new KeyboardEvent('keydown', {key: 'Enter', bubbles: true});"
        "document.querySelector('#nodes .node').dispatchEvent(key)"
    )
    assert browser.run("return state.selected") == 0


def test_drag_and_wheel_move_and_zoom(browser):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    browser.open(html(make_picture(graph({"v": ["t"]}))))
    stage = browser.driver.find_element("id", "graph")
    x, y, scale = browser.run("return [state.x, state.y, state.scale]")
    drag = ActionChains(browser.driver).move_to_element_with_offset(stage, 0, -200).click_and_hold()
    drag.move_by_offset(60, 40).release().perform()
    assert browser.run("return [state.x, state.y, state.scale]") == [x + 60, y + 40, scale]
    ActionChains(browser.driver).scroll_from_origin(ScrollOrigin.from_element(stage), 0, -200).perform()
    assert browser.run("return state.scale") > scale


def test_mouse_click_selects_object(browser):
    browser.open(html(make_picture(graph({"v": ["t"]}))))
    browser.driver.find_element("css selector", "#nodes [data-node='1']").click()
    assert browser.run("return state.selected") == 1
    browser.driver.find_element("css selector", "#search").send_keys("t")
    assert listed(browser) == ["d.t"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_have_sufficient_contrast(browser, scheme):
    """WCAG 2.1, 1.4.3: at least 4.5 to 1."""
    browser.prefer(scheme)
    reads = {"good": ["t"], "bad": ["t"], "old": ["t"]}
    browser.open(
        html(make_picture(graph(reads), [*valid("good"), invalid("bad"), invalid("old", "x", Validity.OUTDATED)]))
    )
    ratios = browser.run(
        """const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const light = (color) => {
          pixel.clearRect(0, 0, 1, 1); pixel.fillStyle = color; pixel.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...pixel.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
            .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        return [...document.querySelectorAll("#nodes .node")].flatMap((node) => {
          const ground = light(getComputedStyle(node.querySelector(".box")).fill);
          return [...node.querySelectorAll("tspan")].map((text) => {
            const ink = light(getComputedStyle(text).fill);
            return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
          });
        })"""
    )
    assert min(ratios) >= 4.5


# -- The layout by itself ---------------------------------------------------------------------------------------------


def random_graphs(count):
    """Sizes and edges of graphs of all kinds: trees, cycles, loops, double edges, none."""
    pick = random.Random(11)
    for _ in range(count):
        nodes = pick.randrange(1, 40)
        sizes = [{"w": pick.randrange(40, 320), "h": 30} for _ in range(nodes)]
        edges = [[pick.randrange(nodes), pick.randrange(nodes)] for _ in range(pick.randrange(0, nodes * 2))]
        yield {"sizes": sizes, "edges": edges}


def test_layout_of_300_random_graphs_has_no_overlap(browser):
    browser.open("<!DOCTYPE html><meta charset=utf-8><title>t</title>")
    cases = list(random_graphs(300))
    script = part("hive_views.dependencies.render", "layout.js")
    call = "return arguments[0].map(({ sizes, edges }) => [layout(sizes, edges), layout(sizes, edges)])"
    for case, (one, again) in zip(cases, browser.run(f"{script}\n{call}", cases), strict=True):
        assert one == again
        boxes = [(number, box["x"], box["y"], box["w"], box["h"]) for number, box in enumerate(one["places"])]
        assert [(box["w"], box["h"]) for box in one["places"]] == [(size["w"], size["h"]) for size in case["sizes"]]
        assert overlapping(boxes) == []
        assert max(x + w for _, x, _, w, _ in boxes) <= one["width"] + 0.001
        assert max(y + h for _, _, y, _, h in boxes) <= one["height"] + 0.001
        assert min(x for _, x, *_ in boxes) >= 0
        assert min(y for _, _, y, *_ in boxes) >= -0.001
        for (start, end), points in zip(case["edges"], one["routes"], strict=True):
            for node, (x, y) in ((start, points[0]), (end, points[-1])):
                _, left, top, width, height = boxes[node]
                assert left - 0.001 <= x <= left + width + 0.001
                assert top - 0.001 <= y <= top + height + 0.001


def test_acyclic_graph_runs_from_left_to_right(browser):
    pick = random.Random(5)
    sizes = [{"w": pick.randrange(40, 320), "h": 30} for _ in range(80)]
    edges = [sorted(pick.sample(range(80), 2)) for _ in range(150)]
    browser.open("<!DOCTYPE html><meta charset=utf-8><title>t</title>")
    script = part("hive_views.dependencies.render", "layout.js")
    drawn = browser.run(f"{script}\nreturn layout(...arguments[0])", [sizes, edges])
    for start, end in edges:
        one, other = drawn["places"][start], drawn["places"][end]
        assert one["x"] + one["w"] < other["x"]


def test_layout_avoids_unnecessary_crossings(browser):
    """Pairs whose order is reversed, and a tree: neither needs a crossing."""
    pairs = [[number, 19 - number] for number in range(10)]
    hub = [[number, 20] for number in range(10, 20)]
    leaves = [[number // 3, number] for number in range(1, 40)]
    browser.open("<!DOCTYPE html><meta charset=utf-8><title>t</title>")
    script = part("hive_views.dependencies.render", "layout.js")
    for edges in ([*pairs, *hub], leaves):
        count = max(max(edge) for edge in edges) + 1
        drawn = browser.run(f"{script}\nreturn layout(...arguments[0])", [[{"w": 80, "h": 30}] * count, edges])
        routes = [(points[0], points[-1]) for points in drawn["routes"]]
        crossed = [
            (one, other)
            for place, one in enumerate(routes)
            for other in routes[place + 1 :]
            if one[0][0] == other[0][0] and (one[0][1] - other[0][1]) * (one[1][1] - other[1][1]) < 0
        ]
        assert crossed == []


def test_page_data_is_json():
    picture = make_picture(hostile())
    assert json.loads(json.dumps(page_data(picture)))["nodes"][0].keys() == {
        "database", "name", "kind", "standing", "reasons", "typed", "expanded", "columns", "sources",
    }  # fmt: skip
