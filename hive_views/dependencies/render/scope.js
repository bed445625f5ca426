// Which objects are drawn: all, those around an object, those of a selector such as 2+sales.orders+1, or databases.

const LARGE = 400, NEAREST = 120;

// Returns the objects at most `levels` edges away, the starts included.
function within(starts, neighbors, levels) {
  const seen = new Set(starts);
  let front = [...starts];
  for (let level = 0; level < levels && front.length; level++) {
    const next = [];
    for (const number of front) for (const other of neighbors[number]) if (!seen.has(other)) { seen.add(other); next.push(other); }
    front = next;
  }
  return seen;
}

function reachable(number, neighbors) {
  const seen = within([number], neighbors, Infinity);
  seen.delete(number);
  return seen;
}

const upstream = (number) => reachable(number, reads), downstream = (number) => reachable(number, readBy);
const around = (starts, up, down) => new Set([...within(starts, reads, up), ...within(starts, readBy, down)]);

// Returns the objects of a selector as dbt writes it: `2+name+1` is the object, two levels that it reads and one level of its
// readers; a plus without a number means all levels. The name may lack its database and contain `*`. Null for other texts.
function selectObjects(text) {
  const [, , before, name, after] = /^((\d*)\+)?(.+?)(?:\+(\d*))?$/.exec(text.trim().toLowerCase()) ?? [];
  if (name === undefined || (before === undefined && after === undefined)) return null;
  const levels = (count) => (count === undefined ? 0 : count === "" ? Infinity : Number(count));
  const pattern = new RegExp(`^${name.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*")}$`, "s");
  const starts = nodes.map((_, number) => number).filter((number) => pattern.test(fullNames[number]) || pattern.test(nodes[number].name.toLowerCase()));
  return around(starts, levels(before), levels(after));
}

// Returns what is drawn at first: everything, or in a large graph the objects nearest to the worst one.
function opening(numbers = nodes.map((_, number) => number)) {
  if (numbers.length <= LARGE) return numbers.length === nodes.length ? null : new Set(numbers);
  const neighbors = (number) => reads[number].length + readBy[number].length;
  const rank = (number) => SEVERITY.indexOf(nodes[number].standing) + (neighbors(number) ? 0 : SEVERITY.length);
  const start = numbers.reduce((best, number) => (rank(number) - rank(best) || neighbors(best) - neighbors(number)) < 0 ? number : best);
  const nearest = new Set([start]);
  for (const number of nearest) {
    for (const other of [...reads[number], ...readBy[number]]) if (nearest.size < NEAREST) nearest.add(other);
  }
  return nearest;
}

// Tells which part of the graph is drawn, with a button that shows everything.
function showScope() {
  const all = state.only === null && !state.grouped && state.column === null;
  find("only").hidden = all;
  if (all) return;
  let scope = `${state.only?.size} of ${nodes.length} objects`;
  if (state.grouped) scope = `${state.drawn.places.length} databases with ${nodes.length} objects`;
  if (state.column !== null) scope = `Lineage of ${columnName(...state.column)}: ${state.drawn.columns} columns of ${state.drawn.places.length} objects`;
  find("only").firstElementChild.textContent = scope;
}

function showLevels(number, up, down) {
  const count = (levels) => (levels === "all" ? Infinity : Number(levels));
  showOnly(around([number], count(up), count(down)), { up, down });
}

function levelPicker(direction, meaning, all) {
  const picker = make("select", { id: `levels-${direction}`, "aria-label": `Levels ${meaning}` });
  for (const levels of ["0", "1", "2", "3", "all"]) picker.append(make("option", { value: levels }, levels));
  picker.value = state.levels[direction];
  picker.disabled = all === 0;
  picker.addEventListener("change", () => showLevels(state.selected, find("levels-up").value, find("levels-down").value));
  return make("label", {}, picker, ` ${meaning}`);
}

// -- Databases --------------------------------------------------------------------------------------------------------

function showDatabases() {
  Object.assign(state, { selected: null, grouped: true, column: null, only: null, levels: null });
  redraw();
  showDetails();
  updateHighlights();
  fit();
}

function openDatabase(database) {
  showOnly(opening(nodes.map((_, number) => number).filter((number) => nodes[number].database === database)));
}

// Draws a box for each database, in the color of its worst object.
function drawDatabases() {
  const members = new Map();
  nodes.forEach((node, number) => members.set(node.database, [...(members.get(node.database) ?? []), number]));
  const names = [...members.keys()], positions = new Map(names.map((name, index) => [name, index]));
  const counts = new Map();
  for (const [from, to] of edges) {
    const [source, reader] = [positions.get(nodes[from].database), positions.get(nodes[to].database)];
    if (source !== reader) counts.set(`${source}/${reader}`, (counts.get(`${source}/${reader}`) ?? 0) + 1);
  }
  const pairs = [...counts.keys()].map((pair) => pair.split("/").map(Number));
  const captions = names.map((name) => [shorten(name, MAX_LABEL), ` ${members.get(name).length}`]);
  const widths = captions.map(([name, count]) => Math.ceil(textWidth(name) + textWidth(count)) + 24);
  const drawn = layout(widths.map((w) => ({ w, h: HEIGHT })), pairs);
  const standings = names.map((name) => members.get(name).map((number) => nodes[number].standing)
    .reduce((worst, standing) => (SEVERITY.indexOf(standing) < SEVERITY.indexOf(worst) ? standing : worst)));
  const boxes = names.map((name, index) => {
    const { x, y, w, h } = drawn.places[index];
    const description = `${name}: ${members.get(name).length} objects, the worst is ${standings[index]}`;
    return shape("g", { class: `node database ${standings[index]}`, transform: `translate(${x},${y})`, "data-database": name, tabindex: 0, role: "button", "aria-label": description },
      shape("title", {}, description), shape("rect", { class: "box", width: w, height: h, rx: 3 }),
      shape("text", { x: 12, y: h / 2 + 0.5 }, shape("tspan", {}, captions[index][0]), shape("tspan", { class: "of" }, captions[index][1])));
  });
  const arrows = pairs.map(([from, to], index) =>
    shape("path", { class: "edge", d: curve(drawn.routes[index], false) }, shape("title", {}, `${counts.get(`${from}/${to}`)} dependencies`)));
  show(drawn, boxes, arrows, standings.map((standing) => ({ class: `node ${standing}` })));
}
