// The view of one run: draws the page's data as one SVG, and lets a reader zoom, read values and hide lines.
// Nothing is fetched. What needs no page stands first, so that it can be tested alone.
"use strict";

/** Round places on an axis: 1, 2 or 5 times a power of ten apart, at most about `most` of them. */
function ticks(from, to, most) {
  if (!(to > from) || !(most > 0)) return [from];
  const raw = (to - from) / most, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= raw * 0.9999);
  const first = Math.ceil(from / step - 1e-9), last = Math.floor(to / step + 1e-9), found = [];
  for (let n = first; n <= last; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}

/** A number for people: four digits, and the last that two neighbours on an axis differ in. */
function number(value, step) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (step) {
    const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    return value.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1");
  }
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(3);
  return String(Number(value.toPrecision(4)));
}

/** The time of a line's sample. */
function when(line, n) { return Array.isArray(line.t) ? line.t[n] : line.t.from + n * line.t.every; }

/** How many samples of a line are not later than a time. */
function upTo(line, time) {
  let low = 0, high = line.v.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (when(line, middle) <= time + 1e-9) low = middle + 1; else high = middle;
  }
  return low;
}

/** The value of a line at a time: held, of rates the interval's, of what falls evenly in between. */
function at(line, time, end) {
  const n = upTo(line, time), last = line.v.length - 1;
  if (line.draw === "pre") {
    const k = n > 0 && Math.abs(when(line, n - 1) - time) <= 1e-9 ? n - 1 : n;
    return k > last ? null : line.v[k];
  }
  if (n === 0) return null;
  if (line.draw === "even" && n <= last) {
    const a = when(line, n - 1), b = when(line, n), u = line.v[n - 1], w = line.v[n];
    return u === null || w === null || b <= a ? u : u + (w - u) * (time - a) / (b - a);
  }
  if (line.draw !== "post" && n - 1 === last && time > when(line, last) + 1e-6 && time > (end || Infinity)) return null;
  return line.v[n - 1];
}

/** Least and largest value of a line in a range; null where there is none. A value that is held into it counts. */
function range(line, from, to) {
  let least = Infinity, most = -Infinity;
  const first = line.draw === "pre" ? upTo(line, from - 2e-9) : Math.max(0, upTo(line, from) - 1);
  let end = upTo(line, to);
  if (line.draw === "pre" && end < line.v.length) end += 1;
  for (let n = first; n < end; n++) {
    const value = line.v[n];
    if (value === null) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return least <= most ? [least, most] : null;
}

/** Which samples in [first, end) are drawn on so many pixels: of each stretch its first, least, largest and last. */
function thin(line, first, end, pixels) {
  const found = [], count = end - first;
  if (count <= 4 * pixels) {
    for (let n = first; n < end; n++) found.push(n);
    return found;
  }
  const size = count / pixels;
  for (let p = 0; p < pixels; p++) {
    const a = first + Math.floor(p * size), b = Math.max(a + 1, first + Math.floor((p + 1) * size));
    let least = -1, most = -1;
    for (let n = a; n < b; n++) {
      if (line.v[n] === null) continue;
      if (least < 0 || line.v[n] < line.v[least]) least = n;
      if (most < 0 || line.v[n] > line.v[most]) most = n;
    }
    const kept = [a, least, most, b - 1].filter(n => n >= 0).sort((x, y) => x - y);
    kept.forEach((n, k) => { if (k === 0 || n !== kept[k - 1]) found.push(n); });
  }
  return found;
}

/** The path of a line in a range; `x` and `y` turn time and value into places. */
function path(line, from, to, x, y, pixels, end) {
  const first = Math.max(0, upTo(line, from) - 1), stop = Math.min(line.v.length, upTo(line, to) + 1);
  let text = "", pen = false, before = 0;
  const place = value => value.toFixed(2).replace(/\.?0+$/, "");
  for (const n of thin(line, first, stop, pixels)) {
    const value = line.v[n];
    if (value === null) { pen = false; continue; }
    const across = place(x(when(line, n))), up = place(y(value));
    if (line.draw === "pre") {
      const start = n > 0 ? when(line, n - 1) : Math.max(0, when(line, n) - (line.t.every || when(line, n)));
      text += (pen ? "V" : `M${place(x(start))} `) + up + `H${across}`;
    } else if (!pen) text += `M${across} ${up}`;
    else if (line.draw === "post") text += `H${across}V${up}`;
    else text += `L${across} ${up}`;
    pen = true;
    before = n;
  }
  if (pen && line.draw === "post" && before === line.v.length - 1) text += `H${place(x(Math.min(end, to)))}`;
  return text;
}

/** A line as rows of CSV, in a range. */
function rows(line, name, unit, from, to) {
  const quoted = text => `"${(/^[=+\-@\t]/.test(text) ? "'" : "") + text.replace(/"/g, '""')}"`;
  let text = "";
  for (let n = 0; n < line.v.length; n++) {
    const time = when(line, n);
    if (time < from - 1e-9 || time > to + 1e-9 || line.v[n] === null) continue;
    text += `${quoted(name)},${quoted(unit)},${Number(time.toPrecision(12))},${line.v[n]}\n`;
  }
  return text;
}

if (typeof module !== "undefined") module.exports = { ticks, number, when, upTo, at, range, thin, path, rows };
if (typeof document !== "undefined") show(document);

function show(document) {
  const data = JSON.parse(document.getElementById("data").textContent);
  const holder = document.getElementById("figure"), space = "http://www.w3.org/2000/svg";
  const LEFT = 92, GAP = 18, TOP = 20, AXIS = 40, LEGEND = 250, ENTRY = 16, ROW = 15, PAPER = 800, PAGE = 1040;
  const DASHES = ["", "7 3", "2 2.5", "8 3 2 3"];
  const hidden = new Set();
  let from = data.from, to = data.to, cursor = null, drag = null, plots = [], width = 900, waiting = false, paper = false;

  const by = id => document.getElementById(id);
  function make(kind, attributes, parent, text) {
    const made = document.createElementNS(space, kind);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }
  const key = (p, l) => `${p}.${l}`;
  const isHidden = (p, l) => hidden.has(key(p, l)) || hidden.has(`who${data.panels[p].lines[l].who}`);
  const called = line => [data.who[line.who].words, line.words].filter(Boolean).join(": ");
  const x = time => LEFT + (time - from) / (to - from) * (width - LEFT - LEGEND);
  const timeAt = place => from + (place - LEFT) / (width - LEFT - LEGEND) * (to - from);

  function cut(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

  /** What a line says at a time, in words. */
  function said(line, panel, time) {
    if (panel.kind === "lines") {
      const value = at(line, time, data.to), name = panel.names && value !== null ? panel.names[value] : undefined;
      return name !== undefined ? name : number(value);
    }
    if (panel.kind === "bars") return line.spans.some(([a, b]) => a <= time && time < b) ? "ON" : "OFF";
    return String(line.t.filter(t => t >= from && t <= time).length);
  }

  /** Heights of the panels: on paper as high as a page lets them be. */
  function heights() {
    const found = data.panels.map(panel => Math.max(panel.kind === "lines" ? 104 : ROW * panel.lines.length, ENTRY * panel.lines.length));
    if (!paper) return found;
    const least = data.panels.map((panel, p) => Math.min(found[p], Math.max(panel.kind === "lines" ? 40 : 0, ENTRY * panel.lines.length)));
    const sum = all => all.reduce((a, b) => a + b, 0);
    const room = PAGE - TOP - AXIS - (GAP + 8) * found.length, over = sum(found) - sum(least);
    const share = over > 0 ? Math.max(0, Math.min(1, (room - sum(least)) / over)) : 1;
    return found.map((height, p) => least[p] + share * (height - least[p]));
  }

  function draw() {
    waiting = false;
    width = paper ? PAPER : Math.max(660, Math.min(1500, holder.clientWidth || 900));
    const high = heights();
    const kept = holder.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
    const svg = make("svg", { xmlns: space, "font-family": "Inter, Helvetica Neue, Arial, Liberation Sans, DejaVu Sans, sans-serif", "font-size": 11, fill: "#1c2328", "aria-hidden": "false" });
    let top = TOP;
    plots = [];
    const inside = make("clipPath", { id: "inside" }, make("defs", {}, svg));
    const clip = make("rect", { x: LEFT, y: 0, width: width - LEFT - LEGEND, height: 0 }, inside);
    const times = ticks(from, to, Math.max(3, Math.floor((width - LEFT - LEGEND) / 75)));
    const step = times.length > 1 ? times[1] - times[0] : to - from;
    data.panels.forEach((panel, p) => {
      const height = high[p];
      const group = make("g", { role: "group", "aria-label": panel.title }, svg);
      make("text", { x: LEFT, y: top - 5, "font-weight": 600 }, group, panel.title);
      for (const time of times) make("line", { x1: x(time), x2: x(time), y1: top, y2: top + height, stroke: "#e3e6e8" }, group);
      const plot = { p, top, height, group };
      if (panel.kind === "lines") lines(panel, p, plot); else marks(panel, p, plot);
      make("rect", { x: LEFT, y: top, width: width - LEFT - LEGEND, height, fill: "none", stroke: "#8b949b" }, group);
      if (data.warmup > from && data.warmup < to)
        make("line", { x1: x(data.warmup), x2: x(data.warmup), y1: top, y2: top + height, stroke: "#5b6670", "stroke-dasharray": "1 3" }, group);
      legend(panel, p, plot);
      plots.push(plot);
      top += height + GAP + 8;
    });
    const bottom = top - GAP - 8;
    for (const time of times) {
      make("line", { x1: x(time), x2: x(time), y1: bottom, y2: bottom + 4, stroke: "#1c2328" }, svg);
      make("text", { x: x(time), y: bottom + 16, "text-anchor": "middle" }, svg, number(time, step));
    }
    make("text", { x: LEFT + (width - LEFT - LEGEND) / 2, y: bottom + 32, "text-anchor": "middle" }, svg, "time (s)");
    clip.setAttribute("height", bottom + 2);
    make("g", { id: "cursor" }, svg);
    svg.setAttribute("viewBox", `0 0 ${width} ${bottom + AXIS}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", bottom + AXIS);
    holder.replaceChildren(svg);
    const again = kept && [...holder.querySelectorAll("[data-key]")].find(e => e.getAttribute("data-key") === kept);
    if (again) again.focus();
    point();
    by("from").value = Number(from.toPrecision(9));
    by("to").value = Number(to.toPrecision(9));
    const whole = from <= data.from && to >= data.to;
    by("whole").disabled = whole;
    by("range").textContent = `${number(from)} s to ${number(to)} s${whole ? ", the whole run" : ""}`;
    table();
  }

  function lines(panel, p, plot) {
    const found = panel.lines.map((line, l) => isHidden(p, l) ? null : range(line, from, to)).filter(Boolean);
    let low = Math.min(...found.map(r => r[0])), high = Math.max(...found.map(r => r[1]));
    if (!found.length) { low = 0; high = 1; }
    if (low > 0 && low < 0.5 * high || low === high && low > 0) low = 0;
    if (high < 0 && high > 0.5 * low) high = 0;
    if (high === low) { high += 1; if (low !== 0) low -= 1; }
    const pad = panel.names ? 0.3 : 0.04 * (high - low);
    [low, high] = [low === 0 && !panel.names ? 0 : low - pad, high + pad];
    const y = value => plot.top + plot.height - (value - low) / (high - low) * plot.height;
    const places = panel.names ? ticks(Math.ceil(low), Math.floor(high), 6).filter(Number.isInteger) : ticks(low, high, 4);
    const step = places.length > 1 ? places[1] - places[0] : 0;
    for (const value of places) {
      make("line", { x1: LEFT, x2: width - LEGEND, y1: y(value), y2: y(value), stroke: "#e3e6e8" }, plot.group);
      const text = panel.names && panel.names[value] !== undefined ? panel.names[value] : number(value, step);
      make("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, plot.group, cut(text, 15));
    }
    const body = make("g", { "clip-path": "url(#inside)", fill: "none", "stroke-linejoin": "round" }, plot.group);
    panel.lines.forEach((line, l) => {
      if (isHidden(p, l)) return;
      const d = path(line, from, to, x, y, Math.ceil(width - LEFT - LEGEND), data.to);
      if (d) make("path", { d, stroke: data.who[line.who].colour, "stroke-width": line.dash === 2 ? 1.8 : 1.4, "stroke-dasharray": DASHES[line.dash % 4], "data-path": key(p, l) }, body);
    });
  }

  function marks(panel, p, plot) {
    const row = plot.height / panel.lines.length;
    const body = make("g", { "clip-path": "url(#inside)" }, plot.group);
    panel.lines.forEach((line, l) => {
      const colour = data.who[line.who].colour, top = plot.top + l * row + row * 0.2, high = row * 0.6;
      make("text", { x: LEFT - 6, y: top + high / 2 + 4, "text-anchor": "end" }, plot.group, cut(data.who[line.who].words, 15));
      if (isHidden(p, l)) return;
      let d = "", before = -1;
      for (const [a, b] of line.spans || []) {
        if (b < from || a > to) continue;
        let left = x(Math.max(a, from));
        const right = x(Math.min(b, to));
        if (left - before < 1 && right - left > 4) left += 1;  // periods that follow each other stay apart
        const wide = Math.max(0.6, right - left);
        before = right;
        d += `M${left.toFixed(2)} ${top.toFixed(1)}h${wide.toFixed(2)}v${high.toFixed(1)}h-${wide.toFixed(2)}z`;
      }
      if (d) make("path", { d, fill: colour }, body);
      d = "";
      let last = -1;
      for (const time of line.t || []) {
        if (time < from || time > to || x(time) - last < 0.5) continue;
        last = x(time);
        d += `M${last.toFixed(2)} ${top.toFixed(1)}v${high.toFixed(1)}`;
      }
      if (d) make("path", { d, stroke: colour, "stroke-width": 1, fill: "none" }, body);
    });
  }

  function legend(panel, p, plot) {
    plot.values = panel.lines.map((line, l) => {
      const top = plot.top + l * ENTRY + 11, off = isHidden(p, l), left = width - LEGEND + 12;
      const entry = make("g", { role: "checkbox", tabindex: 0, "aria-checked": String(!off), "aria-label": `${panel.title}: ${called(line)}`, class: off ? "entry off" : "entry", "data-key": key(p, l) }, plot.group);
      make("title", {}, entry, called(line));
      make("rect", { x: left - 4, y: top - 11, width: LEGEND - 10, height: ENTRY, fill: "#fff", "fill-opacity": 0 }, entry);
      const colour = off ? "#9aa2a8" : data.who[line.who].colour;
      if (panel.kind === "lines") make("line", { x1: left, x2: left + 24, y1: top - 4, y2: top - 4, stroke: colour, "stroke-width": 2, "stroke-dasharray": DASHES[line.dash % 4] }, entry);
      else make("rect", { x: left + 6, y: top - 9, width: 12, height: 10, fill: colour }, entry);
      make("text", { x: left + 30, y: top, fill: off ? "#9aa2a8" : "#1c2328", "text-decoration": off ? "line-through" : "none" }, entry, cut(called(line), 25));
      entry.addEventListener("click", () => toggle(key(p, l)));
      for (const [event, wide] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]])
        entry.addEventListener(event, () => stress(key(p, l), wide));
      entry.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        toggle(key(p, l));
      });
      return make("text", { x: width - 4, y: top, "text-anchor": "end", class: "value", "font-weight": 600 }, plot.group);
    });
  }

  /** Draws a line before all others of its panel, and wider. */
  function stress(which, wide) {
    const found = [...holder.querySelectorAll("[data-path]")].find(e => e.getAttribute("data-path") === which);
    if (!found) return;
    if (wide) found.parentNode.appendChild(found);
    found.style.strokeWidth = wide ? "3" : "";
  }

  function toggle(which) {
    if (!hidden.delete(which)) hidden.add(which);
    draw();
  }

  /** The cursor's line and the values at it. */
  function point() {
    const group = by("cursor");
    if (!group) return;
    group.replaceChildren();
    const there = cursor !== null && cursor >= from && cursor <= to;
    for (const plot of plots) {
      const panel = data.panels[plot.p];
      plot.values.forEach((text, l) => { text.textContent = there && !isHidden(plot.p, l) ? said(panel.lines[l], panel, cursor) : ""; });
    }
    if (drag && drag.to !== null && plots.length) {
      const [a, b] = [x(drag.from), x(drag.to)].sort((u, v) => u - v), last = plots[plots.length - 1];
      make("rect", { x: a, y: plots[0].top, width: b - a, height: last.top + last.height - plots[0].top, fill: "#0b5a8a", "fill-opacity": 0.14 }, group);
    }
    if (!there || !plots.length) { by("time").textContent = ""; return; }
    const last = plots[plots.length - 1];
    make("line", { x1: x(cursor), x2: x(cursor), y1: plots[0].top, y2: last.top + last.height, stroke: "#1c2328", "stroke-width": 0.8 }, group);
    make("text", { x: width - 4, y: TOP - 6, "text-anchor": "end", "font-weight": 600 }, group, `at ${number(cursor, (to - from) / 1e3)} s`);
    by("time").textContent = `${number(cursor, (to - from) / 1e3)} s`;
  }

  /** Says the values at the cursor to those who hear the page. */
  function say() {
    if (cursor === null) return;
    const parts = data.panels.map((panel, p) => {
      const told = panel.lines.map((line, l) => isHidden(p, l) ? "" : `${called(line)} ${said(line, panel, cursor)}`).filter(Boolean);
      return told.length ? `${panel.title}: ${told.join(", ")}` : "";
    });
    by("said").textContent = `At ${number(cursor, (to - from) / 1e3)} seconds. ${parts.filter(Boolean).join(". ")}.`;
  }

  function table() {
    document.querySelectorAll("[data-line]").forEach(cell => {
      const [p, l] = cell.getAttribute("data-line").split(".").map(Number), panel = data.panels[p], line = panel.lines[l];
      if (panel.kind === "lines") {
        const found = range(line, from, to);
        cell.textContent = found ? `${number(found[0])} to ${number(found[1])}` : "–";
      } else if (panel.kind === "bars") {
        const on = line.spans.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from)), 0);
        cell.textContent = `${number(100 * on / (to - from))} % ON`;
      } else cell.textContent = String(line.t.filter(t => t >= from && t <= to).length);
    });
  }

  /** Shows a range, as far as the run has it; `soon`: with the next frame, since more is to come. */
  function zoom(a, b, soon) {
    const least = Math.max((data.to - data.from) * 1e-6, 1e-6);
    if (!Number.isFinite(a) || !Number.isFinite(b)) return;
    if (b < a) [a, b] = [b, a];
    if (b - a < least) { const middle = (a + b) / 2; a = middle - least / 2; b = middle + least / 2; }
    if (b - a >= data.to - data.from) [a, b] = [data.from, data.to];
    if (a < data.from) [a, b] = [data.from, b + data.from - a];
    if (b > data.to) [a, b] = [a - (b - data.to), data.to];
    [from, to] = [a, b];
    if (soon) later(); else draw();
  }
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(draw);
  }
  function around(time, factor, soon) { zoom(time - (time - from) * factor, time + (to - time) * factor, soon); }
  function pan(share) {
    const wide = to - from, start = Math.max(data.from, Math.min(from + share * wide, data.to - wide));
    zoom(start, start + wide);
  }
  const middle = () => cursor !== null && cursor >= from && cursor <= to ? cursor : (from + to) / 2;
  const whole = () => zoom(data.from, data.to);

  function where(event) {
    const svg = holder.querySelector("svg"), box = svg.getBoundingClientRect();
    return (event.clientX - box.left) * width / box.width;
  }
  const within = place => place >= LEFT && place <= width - LEGEND;

  holder.addEventListener("pointermove", event => {
    const place = where(event);
    if (drag) drag.to = Math.min(to, Math.max(from, timeAt(place)));
    cursor = within(place) ? timeAt(place) : drag ? cursor : null;
    point();
  });
  holder.addEventListener("pointerleave", () => { if (!drag) { cursor = null; point(); } });
  holder.addEventListener("pointerdown", event => {
    const place = where(event);
    if (event.button !== 0 || !within(place)) return;
    drag = { from: timeAt(place), to: null, start: place };
    holder.setPointerCapture(event.pointerId);
    holder.focus({ preventScroll: true });
    event.preventDefault();
  });
  holder.addEventListener("pointerup", event => {
    if (!drag) return;
    const { from: a, to: b, start } = drag;
    drag = null;
    if (b !== null && Math.abs(where(event) - start) > 4) zoom(a, b); else point();
  });
  holder.addEventListener("pointercancel", () => { drag = null; point(); });
  holder.addEventListener("dblclick", event => { if (within(where(event))) whole(); });
  holder.addEventListener("wheel", event => {
    const place = where(event);
    if (!within(place) || !(event.ctrlKey || event.metaKey || event.shiftKey || document.activeElement === holder)) return;
    const turned = event.deltaY || event.deltaX;
    event.preventDefault();
    around(timeAt(place), Math.pow(1.0015, Math.max(-400, Math.min(400, turned))), true);
  }, { passive: false });
  holder.addEventListener("keydown", event => {
    if (event.target !== holder || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = share => { cursor = Math.min(to, Math.max(from, middle() + share * (to - from))); point(); say(); };
    const keys = {
      ArrowLeft: () => event.shiftKey ? pan(-0.1) : move(-0.01),
      ArrowRight: () => event.shiftKey ? pan(0.1) : move(0.01),
      PageUp: () => pan(-0.5), PageDown: () => pan(0.5),
      "+": () => around(middle(), 0.5), "=": () => around(middle(), 0.5), "-": () => around(middle(), 2),
      Home: whole, "0": whole, Escape: () => { cursor = null; point(); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  by("whole").addEventListener("click", whole);
  by("in").addEventListener("click", () => around(middle(), 0.5));
  by("out").addEventListener("click", () => around(middle(), 2));
  for (const id of ["from", "to"]) by(id).addEventListener("change", () => zoom(Number(by("from").value), Number(by("to").value)));
  by("print").addEventListener("click", () => window.print());
  document.querySelectorAll("input[data-who]").forEach(box => box.addEventListener("change", () => {
    const which = `who${box.getAttribute("data-who")}`;
    if (box.checked) hidden.delete(which); else hidden.add(which);
    draw();
  }));

  function save(name, kind, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  by("csv").addEventListener("click", () => {
    let text = "series,unit,time_s,value\n";
    data.panels.forEach((panel, p) => panel.lines.forEach((line, l) => {
      if (isHidden(p, l)) return;
      const name = `${panel.words}: ${called(line)}`;
      if (panel.kind === "lines") text += rows(line, name, panel.unit, from, to);
      if (panel.kind === "marks") text += rows({ t: line.t, v: line.t.map(() => 1) }, name, "", from, to);
      if (panel.kind === "bars") {
        const t = line.spans.flat();
        text += rows({ t, v: t.map((_, n) => 1 - n % 2) }, name, "", from, to);
      }
    }));
    save("view.csv", "text/csv", text);
  });
  by("svg").addEventListener("click", () => {
    const copy = holder.querySelector("svg").cloneNode(true);
    copy.querySelectorAll(".entry.off, .value, #cursor").forEach(part => part.remove());
    copy.querySelectorAll("[tabindex]").forEach(part => { part.removeAttribute("tabindex"); part.removeAttribute("role"); });
    save("view.svg", "image/svg+xml", `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`);
  });
  window.addEventListener("resize", later);
  window.addEventListener("beforeprint", () => { cursor = null; paper = true; draw(); });
  window.addEventListener("afterprint", () => { paper = false; draw(); });
  draw();
}
