// SPDX-License-Identifier: Apache-2.0
// What is drawn: timeline with the operators of its range, loads of cores, roofline, bandwidth. Follows base.js.
const plots = [];
let range = null;  // of the timeline, in ms; null: all
const redraw = [];
const axis = () => ({ stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } });
function plot(parent, options, values) {
  const node = make("div");
  parent.append(node);
  const entry = { made: null };
  const draw = entry.draw = () => {
    if (entry.made) entry.made.destroy();
    node.replaceChildren();
    const made = new uPlot({ width: Math.max(280, Math.min(1450, parent.clientWidth - 10)), ...options() }, values, node);
    made.over.setAttribute("tabindex", "0");
    return made;
  };
  entry.made = draw();
  plots.push(entry);
  return entry;
}

function timeline() {
  const node = section("timeline", "Timeline");
  const withBins = (page.devices || []).filter(d => d.bins.length > 0);
  if (withBins.length === 0) return void node.append(make("p", {}, "Nothing ran on a device."));
  node.append(make("p", { class: "tools" }, "Drag to zoom, double click for all of it."), legend());
  const same = (a, b) => a === b || (a && b && Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) < 1e-6 * (b[1] - b[0]));
  const setRange = next => {
    if (same(range, next)) return;
    range = next;
    for (const view of views) view.made.setScale("x", { min: (next || whole)[0], max: (next || whole)[1] });
    redraw.forEach(f => f());
  };
  // All devices over the same time, so that what happens at once is one above the other.
  const whole = [Math.min(...withBins.map(d => d.begin_ns)) / 1e6, Math.max(...withBins.map(d => d.end_ns)) / 1e6];
  const views = withBins.map(d => {
    const width = (d.end_ns - d.begin_ns) / d.bins.length;
    const x = d.bins.map((_, i) => (d.begin_ns + (i + 0.5) * width) / 1e6);
    // Stacked: each series is drawn over the ones that hold it.
    const sums = d.bins.map(() => 0);
    const stacks = PARTS.map((part, p) => d.bins.map((bin, i) => sums[i] += 100 * bin[p] / width));
    const isAll = (min, max) => min <= Math.max(x[0], whole[0]) && max >= Math.min(x[x.length - 1], whole[1]);
    let first = true;  // a plot that is drawn anew keeps the range
    const options = () => (first = true, {
      title: `Device ${d.device}: share of the time, %`, height: 170, legend: { show: false },
      cursor: { drag: { x: true, y: false }, sync: { key: "timeline" } },
      scales: { x: { time: false, range: (u, min, max) => {
        if (!first) return isAll(min, max) ? whole : [min, max];
        first = false;
        return range || whole;
      } }, y: { range: [0, 100] } },
      axes: [{ ...axis(), values: (u, ticks) => ticks.map(t => t + " ms") }, axis()],
      series: [{}, ...PARTS.map((part, p) => p).reverse().map(p => ({
        label: WORDS[PARTS[p]], stroke: colour(PARTS[p]), fill: colour(PARTS[p]), width: 0, points: { show: false },
        paths: uPlot.paths.stepped({ align: 0 }) }))],
      hooks: { setScale: [(u, key) => {
        if (key !== "x" || u.scales.x.min === null) return;
        const { min, max } = u.scales.x;
        const next = min <= whole[0] && max >= whole[1] ? null : [min, max];
        if (!same(range, next)) setTimeout(() => setRange(next), 0);
      }] },
    });
    const values = [x, ...stacks.reverse()];
    return plot(node, options, values);
  });
  document.addEventListener("keydown", event => {
    if (event.target.closest("input, .scroll") || event.ctrlKey || event.metaKey || event.altKey) return;
    const [min, max] = range || whole, length = max - min, middle = (min + max) / 2;
    const clip = (a, b) => [Math.max(a, whole[0]), Math.min(b, whole[1])];
    const next = { "+": clip(middle - length / 4, middle + length / 4), "-": clip(middle - length, middle + length),
      ArrowLeft: clip(min - length / 4, max - length / 4), ArrowRight: clip(min + length / 4, max + length / 4) }[event.key];
    if (event.key === "0") setRange(null);
    else if (next && next[1] > next[0]) setRange(next[0] <= whole[0] && next[1] >= whole[1] ? null : next);
    else return;
    event.preventDefault();
  });
  detail(node, withBins);
}

// Operators in the range that the timeline shows: each one, or above a limit their sums by bin.
function detail(node, devices) {
  const names = page.names || [];
  const inRange = (begin, end) => !range || (end / 1e6 >= range[0] && begin / 1e6 <= range[1]);
  node.append(make("h3", {}, page.aggregated ? "Operators in this range, summed up" : "Tasks in this range"));
  if (page.aggregated) {
    const rows = () => {
      const sums = new Map();
      for (const d of devices) {
        const width = (d.end_ns - d.begin_ns) / d.bins.length;
        d.bin_operators.forEach((list, i) => {
          const begin = d.begin_ns + i * width;
          if (!inRange(begin, begin + width)) return;
          for (let k = 0; k < list.length; k += 3) {
            const key = d.device + "/" + list[k];
            const sum = sums.get(key) || { device: d.device, name: names[list[k]], count: 0, total_ns: 0 };
            sum.count += list[k + 1];
            sum.total_ns += list[k + 2];
            sums.set(key, sum);
          }
        });
      }
      return [...sums.values()].sort((a, b) => b.total_ns - a.total_ns);
    };
    redraw.push(table(node, { name: "range", rows, searchable: true, columns: [
      { title: "Device", value: r => r.device }, { title: "Operator", text: true, value: r => r.name },
      { title: "Count", value: r => r.count, show: count }, { title: "Total", value: r => r.total_ns, show: time }] }));
    return;
  }
  const tasks = devices.flatMap(d => {
    // Four numbers a task: time since the start of the one before, duration, name, stream.
    let begin = d.begin_ns;
    const list = [];
    for (let k = 0; k < d.tasks.length; k += 4) {
      begin += d.tasks[k];
      list.push({ device: d.device, begin, length: d.tasks[k + 1], name: names[d.tasks[k + 2]], stream: d.tasks[k + 3] });
    }
    return list;
  });
  redraw.push(table(node, { name: "tasks", searchable: true,
    rows: () => tasks.filter(t => inRange(t.begin, t.begin + t.length)), columns: [
      { title: "Device", value: r => r.device }, { title: "Stream", value: r => r.stream },
      { title: "Operator", text: true, value: r => r.name }, { title: "Start", value: r => r.begin, show: time },
      { title: "Duration", value: r => r.length, show: time }] }));
}

function cores() {
  const node = section("cores", "Cores");
  const devices = (page.devices || []).filter(d => d.cores.rows.length > 0);
  if (devices.length === 0)
    return void node.append(make("p", {}, "Not collected: loads of single cores come from sampled cores (NPUPROF_CORE_SAMPLE_HZ), " +
      "or of the second kind of core of mixed kernels from their blocks."));
  node.append(make("p", { class: "tools" }, "Busy share of each core; the range is that of the timeline."));
  for (const d of devices) {
    const { rows, labels } = d.cores, columns = rows[0].length, size = rows.length > 40 ? 5 : 10;
    const canvas = make("canvas", { class: "heat", width: columns, height: rows.length, tabindex: "0", role: "img",
      style: `height:${rows.length * size}px`, "aria-label": `Device ${d.device}: busy share of ${rows.length} cores over time` });
    // Which columns the range of the timeline holds.
    const visible = () => {
      const place = ms => (ms * 1e6 - d.begin_ns) / (d.end_ns - d.begin_ns) * columns;
      const first = range ? Math.min(columns - 1, Math.max(0, Math.floor(place(range[0])))) : 0;
      return [first, range ? Math.min(columns, Math.max(first + 1, Math.ceil(place(range[1])))) : columns];
    };
    const draw = () => {
      const context = canvas.getContext("2d"), [first, end] = visible(), width = columns / (end - first);
      context.globalAlpha = 1;
      context.fillStyle = colour("panel");
      context.fillRect(0, 0, columns, rows.length);
      context.fillStyle = colour("compute");
      rows.forEach((row, y) => row.slice(first, end).forEach((share, x) => {
        context.globalAlpha = Math.min(1, share);
        context.fillRect(x * width, y, width, 1);
      }));
    };
    canvas.addEventListener("mousemove", event => {
      const [first, end] = visible();
      const y = Math.floor(event.offsetY / canvas.clientHeight * rows.length);
      const x = first + Math.floor(event.offsetX / canvas.clientWidth * (end - first));
      if (rows[y] && rows[y][x] !== undefined) canvas.title = `${labels[y]}: ${(100 * rows[y][x]).toFixed(1)} %`;
    });
    const mean = row => row.reduce((sum, share) => sum + share, 0) / row.length;
    node.append(make("h3", {}, `Device ${d.device}: ${labels[0]} (top) to ${labels[labels.length - 1]}`), canvas);
    table(node, { name: "cores", rows: () => rows.map((row, i) => ({ device: d.device, label: labels[i], busy: mean(row) })), columns: [
      { title: "Device", value: r => r.device }, { title: "Core", text: true, value: r => r.label },
      { title: "Busy, all of the time", value: r => r.busy, show: v => (100 * v).toFixed(1) + " %" }] });
    draw();
    plots.push({ draw });
    redraw.push(draw);
  }
}

function roofline() {
  const node = section("roofline", "Roofline");
  let any = false;
  for (const device of data.devices) {
    const dots = data.operators.filter(op => op.device === device.device && op.intensity && op.operations_per_s)
      .sort((a, b) => a.intensity - b.intensity);
    if (dots.length === 0) continue;
    any = true;
    const { cube_operations_per_s: peak, memory_bytes_per_s: bytes } = device.peaks;
    const knee = peak / bytes;
    const ends = [Math.min(dots[0].intensity, knee) / 3, knee, Math.max(dots[dots.length - 1].intensity, knee) * 3];
    const points = [...dots.map(op => ({ x: op.intensity, op })), ...ends.map(x => ({ x }))].sort((a, b) => a.x - b.x);
    const values = [points.map(p => p.x), points.map(p => Math.min(peak, p.x * bytes)),
      points.map(p => p.op ? p.op.operations_per_s : null)];
    plot(node, () => ({
      title: `Device ${device.device}: operations per second over operations per byte`, height: 320,
      scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
      axes: [axis(), { ...axis(), size: 80, values: (u, ticks) => ticks.map(t => t === null ? "" : scaled(t, "").replace(".00", "")) }],
      series: [{ label: "operations per byte", value: (u, v) => v === null ? "-" : v.toFixed(2) },
        { label: "roof", stroke: colour("accent"), width: 2, points: { show: false }, value: (u, v) => scaled(v, "/s") },
        { label: "operator", stroke: colour("host_late"), paths: () => null, points: { show: true, size: 7 },
          value: (u, v, s, i) => i !== null && points[i] && points[i].op ? `${points[i].op.name}: ${scaled(v, "/s")}` : "-" }],
    }), values);
  }
  if (!any) node.append(make("p", {}, "Not collected: needs counters of operators, and shapes of tensors or counters of main memory."));
}

function bandwidth() {
  const node = section("bandwidth", "Bandwidth");
  const series = page.bandwidth || [];
  if (series.length > 0) node.append(make("p", { class: "tools" }, "The range is that of the timeline."));
  if (series.length === 0)
    return void node.append(make("p", {}, "Not collected: bandwidth over time needs the setting of hardware memory (HBM)."));
  for (const { device, begin_ns, end_ns, read, write } of series) {
    const width = (end_ns - begin_ns) / read.length;
    const all = { min: begin_ns / 1e6, max: end_ns / 1e6 };
    const entry = plot(node, () => ({
      title: `Device ${device}: main memory, MB/s`, height: 180,
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, range: () => range || [all.min, all.max] } },
      axes: [{ ...axis(), values: (u, ticks) => ticks.map(t => t + " ms") }, { ...axis(), size: 80 }],
      series: [{ label: "ms" }, { label: "read", stroke: colour("communication"), width: 1.5 },
        { label: "write", stroke: colour("host_late"), width: 1.5 }],
    }), [read.map((_, i) => (begin_ns + (i + 0.5) * width) / 1e6), read, write]);
    redraw.push(() => entry.made.setScale("x", range ? { min: range[0], max: range[1] } : all));
  }
}
