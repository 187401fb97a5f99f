// SPDX-License-Identifier: Apache-2.0
// The other parts of the page, and its keys. Follows plots.js.
function summary() {
  const node = section("summary", "Summary");
  node.append(legend());
  const cards = make("div", { class: "cards" });
  for (const device of data.devices) {
    const { time: split, overlap } = device;
    const lines = [`${count(device.operators)} operators in ${time(split.window_ns)}, ` +
      `computing ${percent(split.compute_ns, split.window_ns)}`];
    if (overlap.communication_ns > 0)
      lines.push(`communication ${time(overlap.communication_ns)}, ` +
        `${percent(overlap.communication_ns - overlap.exposed_ns, overlap.communication_ns)} beside computing`);
    const waited = device.host_bound_phases.reduce((sum, phase) => sum + phase.idle_ns, 0);
    if (waited > 0) lines.push(`${count(device.host_bound_phases.length)} host-bound phase${device.host_bound_phases.length > 1 ? "s" : ""}, ${time(waited)} waited`);
    cards.append(make("div", { class: "card", "data-device": device.device },
      make("h3", {}, `Device ${device.device}`), bar(split), ...lines.map(line => make("div", {}, line))));
  }
  node.append(cards);
}

const PIPES = ["cube", "vector", "scalar", "mte1", "mte2", "mte3", "fixpipe"];
function operators() {
  const node = section("operators", "Operators");
  const all = data.operators_total_ns;
  const share = v => v === undefined ? "-" : (100 * v).toFixed(1) + " %";
  table(node, { name: "operators", searchable: true, rows: () => data.operators, columns: [
    { title: "Device", value: op => op.device }, { title: "Operator", text: true, value: op => op.name },
    { title: "Type", text: true, value: op => op.type }, { title: "Core", text: true, value: op => op.core },
    { title: "Count", value: op => op.count, show: count }, { title: "Total", value: op => op.total_ns, show: time },
    { title: "Share", value: op => op.total_ns, show: v => percent(v, all) },
    { title: "Average", value: op => op.total_ns / op.count, show: time },
    { title: "Least", value: op => op.min_ns, show: time }, { title: "Most", value: op => op.max_ns, show: time },
    { title: "Bound", text: true, value: op => op.bound },
    ...PIPES.map(pipe => ({ title: pipe, value: op => op.busy[pipe], show: share })),
    { title: "Ops/byte", value: op => op.intensity, show: v => v === undefined ? "-" : v.toFixed(2) },
    { title: "Ops/s", value: op => op.operations_per_s, show: v => scaled(v, "/s") },
    { title: "Of roof", value: op => op.roof_operations_per_s ? op.operations_per_s / op.roof_operations_per_s : undefined, show: share },
    { title: "Waited before", value: op => op.waited_ns, show: time }] });
}

function gaps() {
  const list = data.devices.flatMap(d => d.gaps.map(gap => ({ ...gap, device: d.device })))
    .sort((a, b) => (b.end_ns - b.begin_ns) - (a.end_ns - a.begin_ns));
  if (list.length === 0) return;
  const node = section("gaps", "Gaps");
  table(node, { name: "gaps", searchable: true, rows: () => list, columns: [
    { title: "Device", value: g => g.device }, { title: "Length", value: g => g.end_ns - g.begin_ns, show: time },
    { title: "At", value: g => g.begin_ns, show: time },
    { title: "Cause", text: true, value: g => WORDS[g.cause] + (g.straggler === undefined ? "" : ` (device ${g.straggler})`) },
    { title: "Before", text: true, value: g => g.next || "-" }, { title: "Stream", value: g => g.stream }] });
}

function steps() {
  const list = data.devices.flatMap(d => d.steps.map(step => ({ ...step, device: d.device })));
  if (list.length === 0) return;
  const node = section("steps", "Steps");
  table(node, { name: "steps", rows: () => list, columns: [
    { title: "Device", value: s => s.device }, { title: "Step", value: s => s.index }, { title: "Model", value: s => s.model },
    { title: "Lasts", value: s => s.end_ns - s.begin_ns, show: time },
    ...PARTS.map(part => ({ title: WORDS[part], value: s => s.time.window_ns > 0 ? partOf(s.time, part) / s.time.window_ns : 0,
      show: v => (100 * v).toFixed(1) + " %" }))] });
}

function ranks() {
  if (data.ranks.length === 0) return;
  const node = section("ranks", "Ranks");
  table(node, { name: "ranks", rows: () => data.ranks, columns: [
    { title: "Device", value: r => r.device }, { title: "Collectives", value: r => r.collectives, show: count },
    { title: "Found on others", value: r => r.matched, show: count }, { title: "Came last", value: r => r.last, show: count },
    { title: "Waited", value: r => r.waiting_ns, show: time }, { title: "Held others up", value: r => r.held_up_ns, show: time }] });
  node.append(make("h3", {}, "Collectives"));
  table(node, { name: "collectives", rows: () => data.collectives, columns: [
    { title: "Device", value: c => c.device }, { title: "Name", text: true, value: c => c.name },
    { title: "Count", value: c => c.count, show: count }, { title: "Total", value: c => c.total_ns, show: time },
    { title: "Most", value: c => c.max_ns, show: time }] });
}

function quality() {
  const node = section("quality", "Data quality");
  const lines = [];
  if (data.simulated) lines.push(["Simulated", "device times and counters come from the NPU model, not from hardware"]);
  lines.push(["Lost while recording", !data.losses_known && data.lost_records === 0 ? "not known"
    : (data.complete ? "" : "at least ") + count(data.lost_records) + " records"]);
  for (const loss of data.losses)
    lines.push(["Lost", `${count(loss.records)} records of ${loss.device < 0 ? "the host" : "device " + loss.device}, ` +
      loss.where + (loss.cause ? ` (${loss.cause})` : "")]);
  lines.push(["Unreadable in the files", count(data.broken_records) + " records"]);
  if (!data.complete) lines.push(["Cut off", "the run was cut off before it was closed"]);
  if (data.aged) lines.push(["Removed", data.aged]);
  for (const d of data.devices) lines.push([`Clock of device ${d.device}`, `error at most ${time(d.clock_error_ns)}`]);
  for (const d of data.devices)
    lines.push([`Counters of device ${d.device}`, `${count(d.counted)} of ${count(d.operators)} operators`]);
  for (const text of data.not_collected) lines.push(["Not collected", text]);
  for (const text of data.warnings) lines.push(["Warning", text]);
  node.append(make("table", { "data-table": "quality" }, make("tbody", {}, ...lines.map(([what, text]) =>
    make("tr", {}, make("td", { class: "text" }, what), make("td", { class: "text", style: "white-space:normal;max-width:none" }, text))))));
}

// ---- the page

function redrawPlots() {
  for (const entry of plots) entry.made = entry.draw();
}
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  redrawPlots();
}
let drawnWidth = innerWidth, pending = 0;
addEventListener("resize", () => {
  if (innerWidth === drawnWidth || pending) return;
  pending = requestAnimationFrame(() => {
    pending = 0;
    drawnWidth = innerWidth;
    redrawPlots();
  });
});
const dark = matchMedia("(prefers-color-scheme: dark)");
document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
const toggle = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
byId("theme").addEventListener("click", toggle);
document.addEventListener("keydown", event => {
  if (event.target.closest("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "t") toggle();
  else if (event.key === "/") document.querySelector("#operators input").focus();
  else return;
  event.preventDefault();
});
byId("simulated").hidden = !data.simulated;
byId("title").textContent = data.profile + (data.command ? ": " + data.command : "");
document.title = "npuprof report: " + data.profile;
for (const draw of [summary, timeline, cores, roofline, bandwidth, operators, gaps, steps, ranks, quality]) draw();
document.documentElement.dataset.ready = Math.round(performance.now());  // ms
