// SPDX-License-Identifier: Apache-2.0
// The page of `npuprof report`. Its data is the JSON of `npuprof report --json` and, under "page", what plots need:
// bins over the window of the run, tasks or their sums by bin, core loads, bandwidths. Moments count from the first task on.
const data = JSON.parse(document.getElementById("data").textContent);
const page = data.page || {};
const CAUSES = ["host_late", "synchronising", "collective_wait", "communication", "copy", "unknown"];
const WORDS = { compute: "computing", host_late: "host launches late", synchronising: "host synchronises",
  collective_wait: "waiting for another rank", communication: "communication", copy: "copies and data input",
  unknown: "unknown", between: "between tasks" };
const PARTS = ["compute", ...CAUSES, "between"];
const byId = id => document.getElementById(id);

// ---- small helpers

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
function time(ns) {
  if (ns >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (ns >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  return (ns / 1e3).toFixed(3) + " us";
}
const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "-";
const count = n => n.toLocaleString("en");
function scaled(value, unit) {
  if (value === undefined || value === null) return "-";
  for (const [size, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (value >= size) return (value / size).toFixed(2) + " " + prefix + unit;
  return value.toFixed(2) + " " + unit;
}
function partOf(split, part) {
  return part === "compute" ? split.compute_ns : part === "between" ? split.between_ns : split.idle_ns[part];
}
function section(id, title) {
  const node = byId(id);
  node.append(make("h2", {}, title));
  document.querySelector("nav").append(make("a", { href: "#" + id }, title));
  return node;
}
function bar(split) {
  const node = make("div", { class: "bar", role: "img",
    "aria-label": PARTS.map(p => WORDS[p] + " " + percent(partOf(split, p), split.window_ns)).join(", ") });
  for (const part of PARTS) {
    const share = split.window_ns > 0 ? 100 * partOf(split, part) / split.window_ns : 0;
    if (share > 0) node.append(make("span", { style: `width:${share}%;background:var(--${part})`,
      title: `${WORDS[part]}: ${share.toFixed(1)} %` }));
  }
  return node;
}
const legend = () => make("p", { class: "legend" }, ...PARTS.map(part =>
  make("span", {}, make("i", { style: `background:var(--${part})` }), WORDS[part])));

// ---- tables: sorted by a click or Enter on the head, at most so many rows at once

const SHOWN = 300;
function table(parent, { name, columns, rows, searchable }) {
  const leftOut = data.left_out[name] ? `; ${count(data.left_out[name])} more are in report --json` : "";
  let order = null, descending = true, needle = "", shown = SHOWN;
  const body = make("tbody");
  const said = make("span", { "aria-live": "polite" });
  const search = searchable ? make("input", { type: "search", placeholder: "search", "aria-label": "Search " + name,
    oninput: event => { needle = event.target.value.toLowerCase(); shown = SHOWN; draw(); } }) : null;
  const more = make("button", { type: "button", onclick: () => { shown += 10 * SHOWN; draw(); } }, "show more");
  const heads = columns.map((column, i) => make("th", { class: column.text ? "text" : null, scope: "col" },
    make("button", { type: "button", onclick: () => {
      descending = order === i ? !descending : !column.text;
      order = i;
      draw();
    } }, column.title)));
  function draw() {
    let list = rows();
    if (needle) list = list.filter(row => columns.some(c => c.text && String(c.value(row)).toLowerCase().includes(needle)));
    if (order !== null) {
      const value = columns[order].value, sign = descending ? -1 : 1;
      list = [...list].sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === undefined || x === null) return y === undefined || y === null ? 0 : 1;
        if (y === undefined || y === null) return -1;
        return x < y ? -sign : x > y ? sign : 0;
      });
    }
    heads.forEach((head, i) => head.setAttribute("aria-sort",
      i !== order ? "none" : descending ? "descending" : "ascending"));
    body.replaceChildren(...list.slice(0, shown).map(row => make("tr", {}, ...columns.map(column => {
      const text = (column.show || (v => v === undefined || v === null ? "-" : String(v)))(column.value(row), row);
      return make("td", { class: column.text ? "text" : null, title: column.text ? text : null }, text);
    }))));
    said.textContent = `${count(Math.min(shown, list.length))} of ${count(list.length)}${leftOut}`;
    more.hidden = list.length <= shown;
  }
  parent.append(make("div", { class: "tools" }, search, said, more),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
      make("table", { "data-table": name }, make("thead", {}, make("tr", {}, ...heads)), body)));
  draw();
  return draw;
}
