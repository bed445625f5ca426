// Layered layout of a graph (Sugiyama, Tagawa and Toda 1981): each object is left of its readers.
// layout(sizes, edges): sizes [{w, h}], edges [[from, to]] -> {places: [{x, y, w, h}], routes, width, height}.
// The layout is deterministic, and places never overlap.

const GAP_X = 70, GAP_Y = 12, GAP_PARTS = 34, THIN = 6;

function layout(sizes, edges) {
  const places = new Array(sizes.length), routes = new Array(edges.length);
  const parts = connected(sizes.length, edges).map((part) => arrange(part, sizes, edges));
  const area = parts.reduce((sum, part) => sum + (part.width + GAP_PARTS) * (part.height + GAP_PARTS), 0);
  const widest = Math.max(0, ...parts.map((part) => part.width));
  const limit = Math.max(widest, Math.sqrt(area * 1.7));
  // Unconnected components are arranged in rows.
  let x = 0, y = 0, row = 0, width = 0;
  for (const part of parts) {
    if (x > 0 && x + part.width > limit) { x = 0; y += row + GAP_PARTS; row = 0; }
    for (const [node, place] of part.places) places[node] = { ...place, x: place.x + x, y: place.y + y };
    for (const [edge, points] of part.routes) routes[edge] = points.map(([px, py]) => [px + x, py + y]);
    width = Math.max(width, x + part.width);
    x += part.width + GAP_PARTS;
    row = Math.max(row, part.height);
  }
  return { places, routes, width, height: y + row };
}

// Returns the connected components, largest first, each as the numbers of its nodes and edges.
function connected(count, edges) {
  const root = Array.from({ length: count }, (_, node) => node);
  const find = (node) => {
    while (root[node] !== node) node = root[node] = root[root[node]];
    return node;
  };
  for (const [from, to] of edges) root[find(from)] = find(to);
  const parts = new Map();
  for (let node = 0; node < count; node++) {
    if (!parts.has(find(node))) parts.set(find(node), { nodes: [], edges: [] });
    parts.get(find(node)).nodes.push(node);
  }
  edges.forEach(([from], edge) => parts.get(find(from)).edges.push(edge));
  return [...parts.values()].sort((one, other) => other.nodes.length - one.nodes.length);
}

function arrange(part, sizes, edges) {
  const { level, backward } = levels(part, edges);
  // A chain of thin nodes carries an edge across the layers between its ends.
  const nodes = new Map(part.nodes.map((node) => [node, { key: node, thin: false, ...sizes[node], before: [], after: [] }]));
  const layers = [];
  for (const node of part.nodes) (layers[level.get(node)] ??= []).push(nodes.get(node));
  const chains = new Map();
  for (const edge of part.edges) {
    let [from, to] = edges[edge];
    if (from === to) continue;
    if (backward.has(edge)) [from, to] = [to, from];
    const chain = [nodes.get(from)];
    for (let layer = level.get(from) + 1; layer < level.get(to); layer++) {
      const thin = { key: `${edge}/${layer}`, thin: true, w: 0, h: THIN, before: [], after: [] };
      layers[layer].push(thin);
      chain.push(thin);
    }
    chain.push(nodes.get(to));
    for (let step = 1; step < chain.length; step++) {
      chain[step - 1].after.push(chain[step]);
      chain[step].before.push(chain[step - 1]);
    }
    chains.set(edge, chain);
  }
  order(layers, part.edges.length);
  return draw(part, edges, layers, nodes, chains, backward);
}

// Returns the layer of each node, after everything that it reads. Edges that close a cycle are reversed.
function levels(part, edges) {
  const out = new Map(part.nodes.map((node) => [node, []]));
  for (const edge of part.edges) if (edges[edge][0] !== edges[edge][1]) out.get(edges[edge][0]).push(edge);
  const backward = new Set(), state = new Map(), finished = [];
  const incoming = new Set(part.edges.map((edge) => edges[edge][1]));
  const starts = [...part.nodes].sort((one, other) => incoming.has(one) - incoming.has(other) || one - other);
  for (const start of starts) {
    if (state.has(start)) continue;
    const work = [[start, 0]];
    state.set(start, "open");
    while (work.length) {
      const top = work[work.length - 1], edge = out.get(top[0])[top[1]++];
      if (edge === undefined) { state.set(top[0], "done"); finished.push(top[0]); work.pop(); continue; }
      const to = edges[edge][1];
      if (state.get(to) === "open") backward.add(edge);
      else if (!state.has(to)) { state.set(to, "open"); work.push([to, 0]); }
    }
  }
  const forward = finished.reverse();
  const level = new Map(part.nodes.map((node) => [node, 0]));
  const ends = (edge) => (backward.has(edge) ? [edges[edge][1], edges[edge][0]] : edges[edge]);
  const after = new Map(part.nodes.map((node) => [node, []])), before = new Map(part.nodes.map((node) => [node, []]));
  for (const edge of part.edges) {
    const [from, to] = ends(edge);
    if (from === to) continue;
    after.get(from).push(to);
    before.get(to).push(from);
  }
  for (const node of forward) for (const to of after.get(node)) level.set(to, Math.max(level.get(to), level.get(node) + 1));
  // Nodes that read nothing move next to their readers, which shortens edges.
  for (const node of part.nodes) {
    if (before.get(node).length || !after.get(node).length) continue;
    level.set(node, Math.min(...after.get(node).map((to) => level.get(to))) - 1);
  }
  return { level, backward };
}

// Crossing reduction: sorts each layer by the positions of its neighbors, and keeps the best order.
function order(layers, size) {
  const number = () => layers.forEach((layer) => layer.forEach((node, place) => { node.place = place; }));
  number();
  let best = layers.map((layer) => [...layer]), fewest = crossings(layers);
  const rounds = size > 4000 ? 4 : size > 1000 ? 10 : 26;
  for (let round = 0; round < rounds && fewest > 0; round++) {
    const down = round % 2 === 0;
    const sequence = down ? layers.keys() : [...layers.keys()].reverse();
    for (const index of sequence) {
      for (const node of layers[index]) {
        const neighbors = down ? node.before : node.after;
        node.weight = neighbors.length ? neighbors.reduce((sum, other) => sum + other.place, 0) / neighbors.length : node.place;
      }
      layers[index].sort((one, other) => one.weight - other.weight || (round % 4 < 2 ? 1 : -1) * (one.place - other.place));
      layers[index].forEach((node, place) => { node.place = place; });
    }
    const now = crossings(layers);
    if (now < fewest) { fewest = now; best = layers.map((layer) => [...layer]); }
  }
  best.forEach((layer, index) => { layers[index] = layer; });
  number();
  if (size <= 1000) exchange(layers, number);
}

// Swaps neighbors if that removes crossings.
function exchange(layers, number) {
  const crossed = (one, other) => {
    let count = 0;
    for (const side of ["before", "after"])
      for (const left of one[side]) for (const right of other[side]) if (left.place > right.place) count++;
    return count;
  };
  for (let round = 0, better = true; better && round < 8; round++) {
    better = false;
    for (const layer of layers) {
      for (let place = 1; place < layer.length; place++) {
        const one = layer[place - 1], other = layer[place];
        if (crossed(one, other) > crossed(other, one)) {
          [layer[place - 1], layer[place]] = [other, one];
          [one.place, other.place] = [place, place - 1];
          better = true;
        }
      }
    }
  }
  number();
}

// Counts the edge crossings of all layers as inversions (Barth, Mutzel and Jünger 2004).
function crossings(layers) {
  let count = 0;
  for (let index = 1; index < layers.length; index++) {
    const width = layers[index].length, tree = new Int32Array(width + 1);
    let seen = 0;
    for (const node of layers[index - 1]) {
      const ends = node.after.map((other) => other.place);
      for (const end of ends) {
        let below = 0;
        for (let at = end + 1; at > 0; at -= at & -at) below += tree[at];
        count += seen - below;
      }
      for (const end of ends) {
        seen++;
        for (let at = end + 1; at <= width; at += at & -at) tree[at]++;
      }
    }
  }
  return count;
}

function draw(part, edges, layers, nodes, chains, backward) {
  for (const layer of layers) settle(layer, layer.map((_, place) => place * 40), layer.map(() => 1));
  for (let round = 0; round < 14; round++) {
    const down = round % 2 === 0;
    for (const index of down ? layers.keys() : [...layers.keys()].reverse()) {
      const layer = layers[index];
      const wanted = layer.map((node) => {
        const neighbors = round > 9 ? [...node.before, ...node.after] : down ? node.before : node.after;
        return neighbors.length ? neighbors.reduce((sum, other) => sum + other.y, 0) / neighbors.length : node.y;
      });
      settle(layer, wanted, layer.map((node) => (node.thin ? 6 : 1)));
    }
  }
  const top = Math.min(...layers.flat().map((node) => node.y - node.h / 2));
  let x = 0;
  for (const [index, layer] of layers.entries()) {
    const width = Math.max(0, ...layer.map((node) => node.w));
    for (const node of layer) { node.x = x; node.column = width; node.y -= top; }
    const busy = layer.reduce((sum, node) => sum + node.after.length, 0);
    x += width + (index < layers.length - 1 ? GAP_X + Math.min(110, busy * 1.5) : 0);
  }
  const places = part.nodes.map((node) => {
    const { x: left, y, w, h } = nodes.get(node);
    return [node, { x: left, y: y - h / 2, w, h }];
  });
  const routes = part.edges.map((edge) => [edge, route(edges[edge], chains.get(edge), nodes, backward.has(edge))]);
  const height = Math.max(...layers.flat().map((node) => node.y + node.h / 2));
  return { places, routes, width: x, height };
}

// Returns the points of an edge in pairs: straight between the points of a pair, curved to the next pair.
function route([from], chain, nodes, backward) {
  if (!chain) {
    const node = nodes.get(from), right = node.x + node.w, low = node.y + node.h / 2;
    return [[right, node.y], [right + 18, node.y], [right + 18, low + 8], [node.x + node.w / 2, low + 8], [node.x + node.w / 2, low]];
  }
  const points = [];
  chain.forEach((node, step) => {
    if (step > 0) points.push([node.x, node.y]);
    if (step < chain.length - 1) points.push([node.thin ? node.x + node.column : node.x + node.w, node.y]);
  });
  return backward ? points.reverse() : points;
}

// Places a layer in its order and without overlap, as near as possible to the desired positions (least squares:
// isotonic regression that pools conflicting neighbors).
function settle(layer, wanted, weights) {
  const offsets = [];
  let offset = 0;
  layer.forEach((node, place) => {
    if (place > 0) {
      const above = layer[place - 1];
      offset += (above.h + node.h) / 2 + (above.thin && node.thin ? 2 : GAP_Y);
    }
    offsets.push(offset);
  });
  const blocks = [];
  layer.forEach((_, place) => {
    let block = { sum: (wanted[place] - offsets[place]) * weights[place], weight: weights[place], count: 1 };
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight > block.sum / block.weight) {
      const above = blocks.pop();
      block = { sum: above.sum + block.sum, weight: above.weight + block.weight, count: above.count + block.count };
    }
    blocks.push(block);
  });
  let place = 0;
  for (const block of blocks) {
    for (let member = 0; member < block.count; member++, place++) layer[place].y = block.sum / block.weight + offsets[place];
  }
}
