// The report: draws `data`, which holds only texts and numbers. Texts from the metastore become text nodes, never HTML.
// Only visible lines are elements, and a difference is drawn when its view is selected.

const STATES = {
  converted: ["✓", "good", "is an Iceberg view now"],
  "would-convert": ["✓", "good", "can be converted now"],
  reverted: ["↶", "other", "was converted, and its legacy row is back"],
  ready: ["…", "", "not converted yet"],
  reported: ["i", "other", "a materialized view, left as it is"],
  blocked: ["⊘", "warning", "reads a view that is not converted"],
  refused: ["✕", "bad", "cannot be converted, and is as it was"],
  failed: ["✕", "bad", "metastore or storage failed: run again"],
  unknown: ["?", "bad", "the metastore did not report the outcome: run again"],
};
const WORST = ["unknown", "failed", "refused", "blocked", "reported", "ready", "reverted", "would-convert", "converted"];
const HEIGHT = 32, BEYOND = 12;

const find = (id) => document.getElementById(id);
const scroll = find("scroll"), search = find("search"), views = data.views;
const full = views.map((view) => `${view.database}.${view.name}`);
const numbers = new Map(full.map((name, number) => [name, number]));
// Made at the first search that needs them: texts can be long.
let inside = null;
const names = full.map((name) => name.toLowerCase());
const state = { statuses: new Set(), shown: views.map((_, number) => number), chosen: null, sideBySide: false };

function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

const stateOf = (status) => STATES[status] ?? ["!", "warning", status];
const time = (seconds) => (seconds === 0 ? "" : seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(seconds < 60 ? 1 : 0)} s`);
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const sign = (status) => make("span", { class: `sign ${stateOf(status)[1]}`, "aria-hidden": "true" }, stateOf(status)[0]);

// -- Which views ------------------------------------------------------------------------------------------------------

function textOf(view) {
  const own = [view.target, view.reason, view.text, view.blocker, view.rows, view.old, view.new, view.original, view.file];
  return [...own, ...view.changes, ...view.engines, ...view.damages, view.pieces.map(([, text]) => text).join("")].filter(Boolean).join("\n").toLowerCase();
}

function narrow() {
  const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length) inside ??= views.map(textOf);
  const wanted = Object.fromEntries(["database", "dialect", "reason"].map((key) => [key, find(key).value]));
  const fits = (view, number) =>
    (!state.statuses.size || state.statuses.has(view.status)) &&
    Object.entries(wanted).every(([key, value]) => value === "" || view[key] === value.slice(1)) &&
    terms.every((term) => names[number].includes(term) || inside[number].includes(term));
  state.shown = views.map((_, number) => number).filter((number) => fits(views[number], number));
  const order = find("order").value;
  if (order === "name") state.shown.sort((one, other) => (names[one] < names[other] ? -1 : names[one] > names[other] ? 1 : 0));
  if (order === "slow") state.shown.sort((one, other) => views[other].seconds - views[one].seconds || one - other);
  if (order === "bad") state.shown.sort((one, other) => WORST.indexOf(views[one].status) - WORST.indexOf(views[other].status) || one - other);
  const filtered = terms.length > 0 || state.statuses.size > 0 || Object.values(wanted).some(Boolean);
  find("clear").hidden = !filtered;
  find("count").textContent = filtered ? `${state.shown.length.toLocaleString("en")} of ${plural(views.length, "view")}` : plural(views.length, "view");
  find("nothing").hidden = state.shown.length > 0;
  find("height").style.height = `${state.shown.length * HEIGHT}px`;
  scroll.scrollTop = 0;
  draw();
}

function clear() {
  search.value = "";
  for (const key of ["database", "dialect", "reason"]) find(key).value = "";
  state.statuses.clear();
  for (const button of find("statuses").children) button.setAttribute("aria-pressed", "false");
  narrow();
}

// -- The lines in sight -----------------------------------------------------------------------------------------------

function draw() {
  const first = Math.max(0, Math.floor(scroll.scrollTop / HEIGHT) - BEYOND);
  const last = Math.min(state.shown.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / HEIGHT) + BEYOND);
  find("rows").style.top = `${first * HEIGHT}px`;
  find("rows").replaceChildren(...state.shown.slice(first, last).map((number, at) => line(number, first + at)));
}

function line(number, place) {
  const view = views[number], chosen = number === state.chosen;
  const what = make("span", { class: "what" });
  if (view.reason !== null) what.append(make("span", { class: "reason" }, view.reason), ": ");
  what.append(view.text ?? view.rows ?? view.changes.join("; "));
  const label = make("span", { class: "label", title: full[number] }, make("span", { class: "of" }, `${view.database}.`), view.name);
  if (view.target !== null) label.append(make("span", { class: "of" }, ` → ${view.target}`));
  return make("div", { class: "row", role: "option", "data-number": number, "aria-selected": chosen, "aria-posinset": place + 1, "aria-setsize": state.shown.length },
    make("span", { class: "state", title: stateOf(view.status)[2] }, sign(view.status), view.status),
    label, make("span", { class: "dialect" }, view.dialect), what, make("span", { class: "time" }, time(view.seconds)));
}

// -- One view ---------------------------------------------------------------------------------------------------------

function choose(number, { show = true } = {}) {
  state.chosen = number;
  details();
  const place = state.shown.indexOf(number);
  if (show && place >= 0) {
    const top = place * HEIGHT;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    if (top + HEIGHT > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + HEIGHT - scroll.clientHeight;
  }
  draw();
  history.replaceState(null, "", number === null ? " " : `#${encodeURIComponent(full[number])}`);
}

function named(name) {
  const number = numbers.get(name);
  if (number === undefined) return document.createTextNode(name);
  const link = make("a", { class: "name", role: "link", tabindex: "0" }, name);
  link.addEventListener("click", () => choose(number));
  link.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(number); });
  return link;
}

const side = (pieces, without) => make("pre", {}, ...pieces.filter(([kind]) => kind !== without)
  .map(([kind, text]) => (kind === "=" ? document.createTextNode(text) : make(kind === "-" ? "del" : "ins", {}, text))));

function texts(view) {
  if (view.pieces.length) {
    const toggle = make("button", { type: "button", id: "side-by-side" }, state.sideBySide ? "In one" : "Side by side");
    toggle.addEventListener("click", () => { state.sideBySide = !state.sideBySide; details(); });
    const shown = state.sideBySide ? make("div", { class: "pair" }, side(view.pieces, "+"), side(view.pieces, "-")) : side(view.pieces, "");
    shown.id = "difference";
    return [make("h3", {}, "Text before and after", toggle), shown];
  }
  const found = [];
  if (view.old !== null) found.push(make("h3", {}, view.same ? "Text, unchanged" : "Text"), make("pre", { id: "old" }, view.old));
  if (view.new !== null) found.push(make("h3", {}, "New text"), make("pre", { id: "new" }, view.new));
  return found;
}

function details() {
  const box = find("details"), number = state.chosen;
  box.hidden = number === null;
  if (number === null) return;
  const view = views[number], [, kind, meaning] = stateOf(view.status);
  const close = make("button", { type: "button", id: "close", title: "Close (Esc)" }, "Close");
  close.addEventListener("click", () => choose(null));
  box.replaceChildren(make("div", { class: "buttons" }, close),
    make("h2", {}, make("span", { class: "of" }, `${view.database}.`), view.name),
    make("div", { class: "state" }, sign(view.status), `${view.status}: ${meaning}`));
  if (view.target !== null) box.append(make("p", { class: "small" }, "becomes ", make("span", {}, view.target)));
  if (view.text !== null) {
    const why = make("p", { class: `why ${kind === "warning" ? "warning" : ""}` }, view.text);
    box.append(why);
    if (view.blocker !== null) box.append(make("p", {}, "In its way: ", named(view.blocker)));
  }
  if (view.rows !== null) box.append(make("h3", {}, "Rows"), make("p", { id: "compared" }, view.rows));
  for (const [title, items] of [["What will not be as it was", view.changes], ["Engines that may not return its author's rows", view.engines], ["What the metastore's database changed", view.damages]])
    if (items.length) box.append(make("h3", {}, title), make("ul", {}, ...items.map((item) => make("li", {}, item))));
  box.append(...texts(view));
  if (view.original !== null) box.append(make("h3", {}, "Original text of the legacy row"), make("pre", { id: "original" }, view.original));
  if (view.seconds) {
    const bar = make("div", { class: "bar" }, make("i"));
    bar.firstChild.style.width = `${Math.min(100, (100 * view.writing) / view.seconds)}%`;
    box.append(make("h3", {}, "Time"), bar, make("p", { class: "small" }, `${time(view.seconds)}, of which ${time(view.writing) || "0 ms"} were writes`));
  }
  if (view.reads.length) box.append(make("h3", {}, "Reads"), make("ul", {}, ...view.reads.map((name) => make("li", {}, named(name)))));
  const details = [`written by ${view.writer}, in ${view.dialect}; level ${view.level}`, view.file && `metadata: ${view.file}`, view.backup && `legacy row: ${view.backup}`];
  box.append(make("h3", {}, "More"), ...details.filter(Boolean).map((detail) => make("p", { class: "small" }, detail)));
  box.scrollTop = 0;
}

// -- Filters and keys -------------------------------------------------------------------------------------------------

function counted(key) {
  const counts = new Map();
  for (const view of views) if (view[key] !== null) counts.set(view[key], (counts.get(view[key]) ?? 0) + 1);
  return counts;
}

function filters() {
  const counts = counted("status");
  const known = [...Object.keys(STATES), ...[...counts.keys()].filter((status) => !(status in STATES))];
  find("statuses").replaceChildren(...known.filter((status) => counts.has(status)).map((status) => {
    const button = make("button", { type: "button", "data-status": status, "aria-pressed": "false", title: stateOf(status)[2] },
      sign(status), `${counts.get(status).toLocaleString("en")} ${status}`);
    button.addEventListener("click", () => {
      if (!state.statuses.delete(status)) state.statuses.add(status);
      button.setAttribute("aria-pressed", state.statuses.has(status));
      narrow();
    });
    return button;
  }));
  for (const [key, every] of [["database", "all databases"], ["dialect", "all dialects"], ["reason", "all reasons"]]) {
    const found = [...counted(key)].sort(([one], [other]) => (one < other ? -1 : 1));
    // A value is never empty: an empty one is no filter.
    find(key).replaceChildren(make("option", { value: "" }, every), ...found.map(([value, count]) => make("option", { value: `=${value}` }, `${value} (${count})`)));
    find(key).hidden = found.length === 0;
    find(key).addEventListener("change", narrow);
  }
}

function step(by) {
  const place = state.shown.indexOf(state.chosen);
  const next = place < 0 ? 0 : Math.max(0, Math.min(state.shown.length - 1, place + by));
  if (state.shown.length) choose(state.shown[next]);
}

function listen() {
  let waiting = false;
  scroll.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  find("rows").addEventListener("click", (event) => {
    const row = event.target.closest("[data-number]");
    if (row) choose(Number(row.dataset.number), { show: false });
  });
  search.addEventListener("input", narrow);
  find("order").addEventListener("change", narrow);
  find("clear").addEventListener("click", clear);
  find("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  });
  window.addEventListener("resize", draw);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { if (state.chosen !== null) choose(null); else clear(); return; }
    const page = Math.max(1, Math.floor(scroll.clientHeight / HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    const free = event.target === document.body || event.target === scroll || event.target === search;
    if (steps !== undefined && free) { event.preventDefault(); step(steps); }
    if (event.target !== search && event.key === "/" && !event.ctrlKey && !event.metaKey) { event.preventDefault(); search.focus(); search.select(); }
  });
}

find("title").textContent = data.title;
const share = data.seconds ? `, ${Math.round((100 * data.writing) / data.seconds)}% of it writes` : "";
const engines = Object.entries(data.engines).map(([engine, counts]) => `${engine}: ${Object.entries(counts).map(([outcome, count]) => `${count.toLocaleString("en")} ${outcome}`).join(", ")}`);
find("sums").textContent = [plural(views.length, "view"), data.seconds ? `${time(data.seconds)} of work${share}` : "", data.cycles.length ? plural(data.cycles.length, "cycle") : "", ...engines].filter(Boolean).join(" · ");
filters();
listen();
narrow();
try {
  const linked = numbers.get(decodeURIComponent(location.hash.slice(1)));
  if (linked !== undefined) choose(linked);
} catch { /* a fragment that is no text */ }
