// Draws the graph in `data`. Untrusted texts become text nodes, never HTML.

const SIGNS = { valid: "✓", outdated: "!", unexpanded: "!", drifted: "≠", invalid: "✕", unknown: "?", blocked: "⊘", missing: "✕", unchecked: "" };
const MEANINGS = {
  valid: "can be read",
  outdated: "readable with its stored text; recompile it to include changes of its tables",
  unexpanded: "has no expanded text for Hive and plain Spark; recompile it",
  drifted: "another program changed its row: adopt or repair it",
  invalid: "cannot be read, or not with its declared columns",
  unknown: "its text cannot be analyzed",
  blocked: "reads something that cannot be read",
  missing: "nothing has this name",
  unchecked: "not checked",
};
const SEVERITY = ["invalid", "missing", "blocked", "drifted", "unexpanded", "outdated", "unknown", "valid", "unchecked"];
const HEIGHT = 30, MAX_LABEL = 270, LIST = 400, READABLE = 0.85;

const find = (id) => document.getElementById(id);
const stage = find("stage"), graph = find("graph"), moved = find("moved"), search = find("search");
const { nodes, edges } = data;
const hasSeveralDatabases = new Set(nodes.map((node) => node.database)).size > 1;
const reads = nodes.map(() => []), readBy = nodes.map(() => []);
for (const [from, to] of edges) { reads[to].push(from); readBy[from].push(to); }
const fullNames = nodes.map((node) => `${node.database}.${node.name}`.toLowerCase());
const texts = nodes.map((node) =>
  [node.typed ?? "", node.expanded ?? "", ...node.columns.map(([name, , comment]) => `${name} ${comment ?? ""}`)].join("\n").toLowerCase());

// What is drawn: the objects in `only` (null: all), the databases if `grouped`, or the lineage of `column`, [object, column].
const state = { selected: null, standings: new Set(), only: null, levels: null, grouped: false, column: null, scale: 1, x: 0, y: 0, drawn: null };

// -- Elements ---------------------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

function shape(tag, attributes = {}, ...content) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `13px ${getComputedStyle(document.documentElement).getPropertyValue("--sans")}`;
const textWidth = (text) => ruler.measureText(text).width;

// Shortens a text in its middle: related names often share their beginning and end.
function shorten(text, width) {
  if (textWidth(text) <= width) return text;
  const characters = [...text];
  let low = 0, high = characters.length;
  const cut = (count) => [...characters.slice(0, Math.ceil(count / 2)), "…", ...characters.slice(characters.length - Math.floor(count / 2))].join("");
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(cut(middle)) <= width) low = middle; else high = middle - 1;
  }
  return cut(low);
}

const labels = nodes.map((node) => {
  const prefix = hasSeveralDatabases ? `${shorten(node.database, 110)}.` : "";
  const name = shorten(node.name, MAX_LABEL - textWidth(prefix));
  return { prefix, name, width: Math.ceil(textWidth(prefix) + textWidth(name)) };
});
const hasMark = (node) => SIGNS[node.standing] !== "" && node.standing !== "valid";
const textOffset = (node) => (node.kind === "missing" ? 12 : 31);
const sizes = nodes.map((node, number) => ({ w: labels[number].width + textOffset(node) + 11 + (hasMark(node) ? 20 : 0), h: HEIGHT }));

// -- The graph --------------------------------------------------------------------------------------------------------

function redraw() {
  if (state.column !== null) drawColumns(...state.column);
  else if (state.grouped) drawDatabases();
  else drawObjects();
  find("nothing").hidden = state.drawn.places.length > 0;
  find("databases").setAttribute("aria-pressed", state.grouped);
  showScope();
}

function drawObjects() {
  const shown = nodes.map((_, number) => number).filter((number) => state.only === null || state.only.has(number));
  const positions = new Map(shown.map((number, index) => [number, index]));
  const shownEdges = edges.filter(([from, to]) => positions.has(from) && positions.has(to));
  const drawn = layout(shown.map((number) => sizes[number]), shownEdges.map(([from, to]) => [positions.get(from), positions.get(to)]));
  show(drawn, shown.map((number, index) => drawNode(number, drawn.places[index])), shownEdges.map((edge, index) => drawEdge(edge, drawn.routes[index])),
    shown.map((number) => ({ class: `node ${nodes[number].standing}`, "data-node": number })));
  state.drawn.byNumber = new Map(shown.map((number, index) => [number, drawn.places[index]]));
}

// Shows the elements of a layout, and its places in the overview map with the attributes in `marks`.
function show(drawn, boxes, arrows, marks) {
  state.drawn = { ...drawn, byNumber: new Map() };
  find("edges").replaceChildren(...arrows);
  find("nodes").replaceChildren(...boxes);
  find("map").firstElementChild.replaceChildren(...drawn.places.map(({ x, y, w, h }, index) => shape("rect", { x, y, width: w, height: h, ...marks[index] })));
}

function drawNode(number, { x, y, w, h }) {
  const node = nodes[number], label = labels[number];
  const isTable = node.kind === "table" || node.kind === "hive-table";
  const group = shape("g", {
    class: `node ${node.kind} ${node.standing}`, transform: `translate(${x},${y})`, "data-node": number, tabindex: 0, role: "button",
    "aria-label": `${node.database}.${node.name}, ${node.kind}, ${node.standing}`,
  });
  group.append(shape("title", {}, `${node.database}.${node.name}\n${node.kind}, ${node.standing}${node.reasons.map((reason) => `\n${reason}`).join("")}`));
  group.append(shape("rect", { class: "box", width: w, height: h, rx: isTable ? 3 : 9 }));
  const middle = h / 2;
  if (node.kind !== "missing") group.append(isTable
    ? shape("path", { class: "kind", d: `M11,${middle - 5}h12v10h-12zM11,${middle - 1.5}h12M15,${middle - 1.5}v6.5` })
    : shape("path", { class: "kind", d: `M10,${middle}q7,-9.5 14,0q-7,9.5 -14,0zM19.2,${middle}a2.2,2.2 0 1 1 -4.4,0a2.2,2.2 0 1 1 4.4,0` }));
  group.append(shape("text", { x: textOffset(node), y: middle + 0.5 }, shape("tspan", { class: "of" }, label.prefix), shape("tspan", {}, label.name)));
  if (hasMark(node)) {
    group.append(shape("g", { class: `mark ${node.standing}`, transform: `translate(${w - 15},${middle})` },
      shape("circle", { r: 7.5 }), shape("text", { y: 0.5 }, SIGNS[node.standing])));
  }
  return group;
}

function curve(points, isLoop) {
  let path = `M${points[0]}`;
  for (let index = 1; index < points.length; index++) {
    const [x, y] = points[index], [px, py] = points[index - 1];
    const bend = (x - px) / 2;
    path += py === y || isLoop ? `L${x},${y}` : `C${px + bend},${py} ${x - bend},${y} ${x},${y}`;
  }
  return path;
}

function drawEdge([from, to, dependencyState], points) {
  const edge = shape("path", { class: `edge ${dependencyState === "same" ? "" : "broken"}`, d: curve(points, from === to), "data-from": from, "data-to": to });
  if (dependencyState !== "same") edge.append(shape("title", {}, dependencyState));
  return edge;
}

// -- Selection and search ---------------------------------------------------------------------------------------------

function select(number, { show = true } = {}) {
  state.selected = number;
  if (number !== null && !state.drawn.byNumber.has(number)) {
    if (nodes.length > LARGE) showLevels(number, "2", "2"); else showOnly(null);
  }
  showDetails();
  updateHighlights();
  history.replaceState(null, "", number === null ? " " : `#${encodeURIComponent(fullNames[number])}`);
  if (number !== null && show) bringIntoView(number);
}

// Returns the objects that match the search and the filters; null without either.
function findMatches() {
  const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!terms.length && !state.standings.size) return null;
  const selected = selectObjects(search.value);
  const byName = [], byText = [];
  nodes.forEach((node, number) => {
    if (state.standings.size && !state.standings.has(node.standing)) return;
    if (selected !== null) { if (selected.has(number)) byName.push(number); }
    else if (terms.every((term) => fullNames[number].includes(term))) byName.push(number);
    else if (terms.every((term) => fullNames[number].includes(term) || texts[number].includes(term))) byText.push(number);
  });
  return { byName, byText };
}

function updateHighlights() {
  const matching = findMatches(), up = state.selected === null ? null : upstream(state.selected);
  const down = state.selected === null ? null : downstream(state.selected);
  const highlighted = state.selected !== null ? new Set([state.selected, ...up, ...down])
    : matching !== null ? new Set([...matching.byName, ...matching.byText]) : null;
  for (const element of document.querySelectorAll("[data-node].node")) {
    const number = Number(element.dataset.node);
    element.classList.toggle("chosen", number === state.selected);
    element.classList.toggle("up", up?.has(number) ?? false);
    element.classList.toggle("down", down?.has(number) ?? false);
    element.classList.toggle("faded", highlighted !== null && !highlighted.has(number));
  }
  for (const element of document.querySelectorAll(".edge[data-from]")) {
    const from = Number(element.dataset.from), to = Number(element.dataset.to), selected = state.selected;
    const isUp = selected !== null && up.has(from) && (to === selected || up.has(to));
    const isDown = selected !== null && down.has(to) && (from === selected || down.has(from));
    element.classList.toggle("up", isUp);
    element.classList.toggle("down", isDown && !isUp);
    element.classList.toggle("faded", highlighted !== null && !isUp && !isDown);
  }
  showList(matching);
}

// -- Side panel -------------------------------------------------------------------------------------------------------

function sign(standing) {
  return make("span", { class: `sign ${standing}`, title: `${standing}: ${MEANINGS[standing]}` }, SIGNS[standing]);
}

function item(number, remark) {
  const node = nodes[number];
  return make("button", { class: "item", type: "button", "data-number": number }, sign(node.standing),
    make("span", { class: "label", title: `${node.database}.${node.name}` }, make("span", { class: "of" }, `${node.database}.`), node.name),
    make("span", { class: "kind" }, remark ?? node.kind));
}

function showList(matching) {
  const terms = search.value.trim() !== "";
  const rank = (number) => SEVERITY.indexOf(nodes[number].standing);
  const all = matching === null ? nodes.map((_, number) => number) : matching.byName;
  const sorted = [...all].sort((one, other) => rank(one) - rank(other) || one - other);
  const found = [...sorted.map((number) => [number]), ...(matching?.byText ?? []).map((number) => [number, "in its text"])];
  find("list").replaceChildren(...found.slice(0, LIST).map((entry) => make("li", {}, item(...entry))));
  if (found.length > LIST) find("list").append(make("li", { class: "more" }, `… and ${found.length - LIST} more`));
  find("count").textContent = matching === null ? `${nodes.length} objects, worst first` : `${found.length} of ${nodes.length} objects${terms ? " found" : ""}`;
}

function showDetails() {
  const number = state.selected, details = find("details");
  details.hidden = number === null;
  find("list").hidden = number !== null;
  find("count").hidden = number !== null;
  if (number === null) return;
  const node = nodes[number], up = upstream(number), down = downstream(number);
  const back = make("button", { type: "button" }, "← List");
  back.addEventListener("click", () => select(null));
  const only = make("button", { type: "button", id: "narrow" }, state.only === null ? "Only connected objects" : "Show everything");
  only.addEventListener("click", () => (state.only === null ? showLevels(number, "all", "all") : showOnly(null)));
  details.replaceChildren(
    make("div", { class: "buttons" }, back, only),
    make("div", { class: "levels" }, "Levels: ", levelPicker("up", "that it reads", up.size), " ", levelPicker("down", "of its readers", down.size)),
    make("h2", {}, make("span", { class: "of" }, `${node.database}.`), node.name),
    make("div", { class: "summary" }, sign(node.standing), `${node.kind === "missing" ? "" : `${node.kind}, `}${node.standing}: ${MEANINGS[node.standing]}`),
  );
  if (node.reasons.length) details.append(make("ul", { class: "reasons" }, ...node.reasons.map((reason) => make("li", {}, reason))));
  for (const [title, neighbors, all] of [["Reads", reads[number], up], ["Is read by", readBy[number], down]]) {
    if (!neighbors.length) continue;
    const more = all.size > neighbors.length ? `, ${all.size} in all` : "";
    details.append(make("h3", {}, `${title} ${neighbors.length}${more}`), make("ul", {}, ...neighbors.map((neighbor) => make("li", {}, item(neighbor)))));
  }
  if (node.typed !== null) details.append(make("h3", {}, node.expanded === null ? "Text" : "Text as typed"), make("pre", { id: "typed" }, node.typed));
  if (node.expanded !== null) details.append(make("h3", {}, "Text for Hive and plain Spark"), make("pre", { id: "expanded" }, node.expanded));
  if (node.columns.length) {
    const rows = node.columns.map(([name, type, comment], column) =>
      make("tr", {}, make("td", {}, columnLabel(number, column), ...(comment ? [make("small", {}, comment)] : [])), make("td", { class: "type" }, type)));
    details.append(make("h3", {}, `${node.columns.length} column${node.columns.length === 1 ? "" : "s"}`), make("table", {}, make("tbody", {}, ...rows)));
  }
  details.scrollTop = 0;
}

function showOnly(numbers, levels = { up: "all", down: "all" }) {
  Object.assign(state, { only: numbers, levels, grouped: false, column: null });
  redraw();
  showDetails();
  updateHighlights();
  fit();
}

function showFilters() {
  const counts = new Map();
  for (const node of nodes) counts.set(node.standing, (counts.get(node.standing) ?? 0) + 1);
  const onlyTables = nodes.every((node) => node.standing !== "unchecked" || node.kind.endsWith("table"));
  const standings = Object.keys(SIGNS).filter((standing) => counts.has(standing));
  find("filters").replaceChildren(...standings.map((standing) => {
    const button = make("button", { type: "button", "data-standing": standing, "aria-pressed": "false", title: MEANINGS[standing] },
      sign(standing), `${counts.get(standing)} ${standing === "unchecked" && onlyTables ? "tables" : standing}`);
    button.addEventListener("click", () => {
      if (!state.standings.delete(standing)) state.standings.add(standing);
      button.setAttribute("aria-pressed", state.standings.has(standing));
      select(null);
    });
    return button;
  }));
}

// -- Zoom and pan -----------------------------------------------------------------------------------------------------

function move(scale, x, y) {
  Object.assign(state, { scale: Math.min(4, Math.max(0.04, scale)), x, y });
  moved.setAttribute("transform", `translate(${state.x},${state.y}) scale(${state.scale})`);
  const map = find("map"), box = stage.getBoundingClientRect(), { width, height } = state.drawn;
  map.setAttribute("viewBox", `-20 -20 ${width + 40} ${height + 40}`);
  const all = width * state.scale <= box.width && height * state.scale <= box.height;
  map.style.display = all || !state.drawn.places.length ? "none" : "";
  for (const [key, value] of Object.entries({ x: -x / state.scale, y: -y / state.scale, width: box.width / state.scale, height: box.height / state.scale }))
    find("window").setAttribute(key, value);
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const scale = Math.min(4, Math.max(0.04, state.scale * factor));
  move(scale, x - ((x - state.x) * scale) / state.scale, y - ((y - state.y) * scale) / state.scale);
}

// Fits the whole graph if its scale is at least `minimum`; else shows its top left at a readable scale.
function fit(minimum = 0) {
  const { width, height } = state.drawn, margin = 28, box = stage.getBoundingClientRect();
  if (!state.drawn.places.length) return move(1, 0, 0);
  const whole = Math.min((box.width - 2 * margin) / width, (box.height - 2 * margin) / height);
  const scale = whole < minimum ? READABLE : Math.min(1.15, whole);
  const center = (room, size) => (size * scale + 2 * margin <= room ? (room - size * scale) / 2 : margin);
  return move(scale, center(box.width, width), center(box.height, height));
}

function bringIntoView(number) {
  const place = state.drawn.byNumber.get(number), box = stage.getBoundingClientRect(), scale = Math.max(state.scale, 0.75);
  const left = place.x * state.scale + state.x, top = place.y * state.scale + state.y;
  const visible = left > 10 && top > 10 && left + place.w * state.scale < box.width - 10 && top + place.h * state.scale < box.height - 10;
  if (visible && state.scale >= 0.5) return;
  move(scale, box.width / 2 - (place.x + place.w / 2) * scale, box.height / 2 - (place.y + place.h / 2) * scale);
}

function listen() {
  let dragged = null;
  graph.addEventListener("pointerdown", (event) => {
    if (event.button === 0) dragged = { x: event.clientX, y: event.clientY, from: [state.x, state.y], far: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!dragged || !(event.buttons & 1)) return;
    const dx = event.clientX - dragged.x, dy = event.clientY - dragged.y;
    dragged.far ||= Math.hypot(dx, dy) > 4;
    if (!dragged.far) return;
    graph.classList.add("dragged");
    move(state.scale, dragged.from[0] + dx, dragged.from[1] + dy);
  });
  graph.addEventListener("click", (event) => {
    const far = dragged?.far;
    dragged = null;
    graph.classList.remove("dragged");
    if (far) return;
    const node = event.target.closest(".node"), column = event.target.closest("[data-column]");
    if (node?.dataset.database !== undefined) openDatabase(node.dataset.database);
    else if (column !== null) showColumn(Number(column.dataset.object), Number(column.dataset.column));
    else if (node?.dataset.object !== undefined) select(Number(node.dataset.object));
    else select(node === null ? null : Number(node.dataset.node), { show: false });
  });
  window.addEventListener("pointerup", () => { graph.classList.remove("dragged"); });
  graph.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = graph.getBoundingClientRect(), step = event.deltaMode === 1 ? 16 : 1;
    zoom(Math.exp(-Math.max(-300, Math.min(300, event.deltaY * step)) / 450), event.clientX - box.x, event.clientY - box.y);
  }, { passive: false });
  find("map").addEventListener("pointerdown", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(find("map").getScreenCTM().inverse());
    move(state.scale, stage.clientWidth / 2 - point.x * state.scale, stage.clientHeight / 2 - point.y * state.scale);
  });
  for (const place of [find("list"), find("details")]) {
    place.addEventListener("click", (event) => {
      const button = event.target.closest("[data-number], [data-column]");
      if (button?.dataset.column !== undefined) showColumn(Number(button.dataset.object), Number(button.dataset.column));
      else if (button) select(Number(button.dataset.number));
    });
  }
  search.addEventListener("input", () => {
    if (state.selected !== null) select(null); else updateHighlights();
  });
  search.addEventListener("keydown", (event) => {
    const first = find("list").querySelector("[data-number]"), selected = selectObjects(search.value);
    if (event.key !== "Enter") return;
    if (selected?.size) showOnly(selected);
    else if (first) select(Number(first.dataset.number));
  });
  find("closer").addEventListener("click", () => zoom(1.3));
  find("farther").addEventListener("click", () => zoom(1 / 1.3));
  find("fit").addEventListener("click", () => fit());
  find("only").lastElementChild.addEventListener("click", () => showOnly(null));
  find("databases").addEventListener("click", () => (state.grouped ? showOnly(opening()) : showDatabases()));
  find("svg").addEventListener("click", () => save(new Blob([pictureAsSvg()], { type: "image/svg+xml" }), "svg"));
  find("png").addEventListener("click", async () => save(await pictureAsPng(), "png"));
  find("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme ?? (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });
  window.addEventListener("resize", () => move(state.scale, state.x, state.y));
  document.addEventListener("keydown", (event) => {
    const node = event.target.closest?.(".node");
    if (node && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); node.dispatchEvent(new MouseEvent("click", { bubbles: true })); }
    if (event.key === "Escape") { if (state.selected !== null) select(null); else { search.value = ""; updateHighlights(); } }
    if (event.target === search || event.ctrlKey || event.metaKey) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); }
    if (event.key === "+") zoom(1.3);
    if (event.key === "-") zoom(1 / 1.3);
    if (event.key === "0") fit();
  });
}
