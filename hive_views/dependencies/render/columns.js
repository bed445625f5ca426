// The lineage of a column: the columns that it is computed from and those computed from it, through all views between.

const ROW = 20;

const columnReaders = nodes.map((node) => node.columns.map(() => []));
nodes.forEach((node, number) => node.sources.forEach((sources, column) => {
  for (const [other, source] of sources) columnReaders[other][source].push([number, column]);
}));
const columnSources = nodes.map((node) => node.columns.map((_, column) => node.sources[column] ?? []));
const columnName = (number, column) => `${nodes[number].database}.${nodes[number].name}.${nodes[number].columns[column][0]}`;

// Returns a column's name, as a button if something is computed from it or it is computed from something.
function columnLabel(number, column) {
  const name = nodes[number].columns[column][0];
  if (!columnSources[number][column].length && !columnReaders[number][column].length) return name;
  return make("button", { type: "button", class: "column", "data-object": number, "data-column": column, title: "Draw its lineage" }, name);
}

function showColumn(number, column) {
  Object.assign(state, { selected: number, column: [number, column], grouped: false });
  redraw();
  showDetails();
  updateHighlights();
  fit(0.6);
}

// Returns the edges between columns that lead to a column (`columnSources`) or away from it (`columnReaders`).
function columnEdges(start, neighbors) {
  const seen = new Set([start.join("/")]), found = [];
  for (const front = [start]; front.length;) {
    const [number, column] = front.pop();
    for (const other of neighbors[number][column]) {
      found.push(neighbors === columnSources ? [other, [number, column]] : [[number, column], other]);
      if (!seen.has(other.join("/"))) { seen.add(other.join("/")); front.push(other); }
    }
  }
  return found;
}

function drawColumns(number, column) {
  const start = [number, column];
  const found = [...columnEdges(start, columnSources), ...columnEdges(start, columnReaders)];
  const members = new Map();
  for (const [object, member] of [start, ...found.flat()]) members.set(object, (members.get(object) ?? new Set()).add(member));
  const objects = [...members.keys()].sort((one, other) => one - other), positions = new Map(objects.map((object, index) => [object, index]));
  const listed = objects.map((object) => [...members.get(object)].sort((one, other) => one - other));
  const captions = listed.map((columns, index) => columns.map((member) => shorten(nodes[objects[index]].columns[member][0], MAX_LABEL)));
  const drawn = layout(objects.map((object, index) => ({
    w: Math.max(sizes[object].w, ...captions[index].map((caption) => Math.ceil(textWidth(caption)) + 40)), h: HEIGHT + ROW * listed[index].length + 4,
  })), found.map(([[from], [to]]) => [positions.get(from), positions.get(to)]));
  const rowMiddle = ([object, member]) => {
    const index = positions.get(object);
    return drawn.places[index].y + HEIGHT + ROW * (listed[index].indexOf(member) + 0.5);
  };
  const boxes = objects.map((object, index) => {
    const { x, y, w, h } = drawn.places[index];
    const box = drawNode(object, { x, y, w, h: HEIGHT });
    box.removeAttribute("data-node");
    box.setAttribute("data-object", object);
    box.querySelector(".box").setAttribute("height", h);
    for (const [place, member] of listed[index].entries()) {
      const isStart = object === number && member === column;
      box.append(shape("text", { class: `column ${isStart ? "chosen" : ""}`, x: 31, y: HEIGHT + ROW * (place + 0.5), "data-object": object, "data-column": member },
        shape("title", {}, columnName(object, member)), captions[index][place]));
    }
    return box;
  });
  const arrows = found.map(([from, to], index) => {
    const points = drawn.routes[index].map((point) => [...point]);
    points[0][1] = rowMiddle(from);
    points[points.length - 1][1] = rowMiddle(to);
    return shape("path", { class: "edge", d: curve(points, from[0] === to[0]), "data-from-column": columnName(...from), "data-to-column": columnName(...to) });
  });
  show(drawn, boxes, arrows, objects.map((object) => ({ class: `node ${nodes[object].standing}` })));
  state.drawn.columns = listed.reduce((sum, columns) => sum + columns.length, 0);
}
