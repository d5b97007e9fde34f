// The view of one run: one uPlot chart per panel; all share the range of time and the cursor.
"use strict";
const DASHES = [[], [7, 3], [2, 2.5]], HEIGHT = 150, ROW = 16, AXIS = 40;

/** Number of times that are not later than `time`. */
function upTo(t, time) {
  let low = 0, high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time + 1e-9) low = middle + 1; else high = middle;
  }
  return low;
}

/** Times and values of a line. */
function samples(line) {
  if (line.spans) return { t: line.spans.flat(), v: line.spans.flatMap(() => [1, 0]) };
  const v = line.v || line.t.map(() => 1);
  return { t: Array.isArray(line.t) ? line.t : v.map((_, n) => line.t.from + n * line.t.every), v };
}

/** The samples to draw: the first interval has a start, and a value that is held lasts to the end of the run. */
function drawn(line, end) {
  const { t, v } = samples(line), draw = line.draw;
  if (draw === "pre" && t.length) return { t: [Math.max(0, t[0] - (line.t.every || t[0])), ...t], v: [v[0], ...v], draw };
  if (draw === "post" && t.length && t.at(-1) < end) return { t: [...t, end], v: [...v, v.at(-1)], draw };
  return { t, v, draw };
}

/** Value at a time: of the interval that ends next ("pre"), on the way to the next sample ("even"), or the last one. */
function at({ t, v, draw }, time) {
  const n = upTo(t, time);
  if (n === 0 || time > t.at(-1) + 1e-9) return null;
  const exact = n === t.length || time - t[n - 1] <= 1e-9;
  if (exact || draw === "line" || draw === "post" || v[n - 1] === null || v[n] === null) return v[exact || draw !== "pre" ? n - 1 : n];
  return draw === "pre" ? v[n] : v[n - 1] + (v[n] - v[n - 1]) * (time - t[n - 1]) / (t[n] - t[n - 1]);
}

/** Least and largest value in a range, the value at its start included; null where there is none. */
function range({ t, v, draw }, from, to) {
  const pre = draw === "pre", start = pre ? upTo(t, from) : Math.max(0, upTo(t, from) - 1);
  const found = v.slice(start, pre ? upTo(t, to - 2e-9) + 1 : upTo(t, to)).filter(value => value !== null);
  return found.length ? found.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]) : null;
}

/** Rows of CSV for the samples in a range. */
function rows({ t, v }, name, unit, from, to) {
  const quoted = text => `"${(/^[=+\-@\t]/.test(text) ? "'" : "") + text.replace(/"/g, '""')}"`;
  return t.map((time, n) => time < from - 1e-9 || time > to + 1e-9 || v[n] === null ? "" :
    `${quoted(name)},${quoted(unit)},${Number(time.toPrecision(12))},${v[n]}\n`).join("");
}

/** The event to show after a click: an explained one, unless another is clearly nearer and not in a crowd. */
function clicked(events, time, reach) {
  const far = one => one ? Math.abs(one.t - time) : Infinity;
  const nearest = list => list.reduce((best, one) => far(one) < far(best) ? one : best, null);
  const any = nearest(events), told = nearest(events.filter(one => one.text));
  return told && (events.length > 3 || far(told) <= far(any) + reach / 2) ? told : any;
}

/** A number with four digits. */
function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

if (typeof module !== "undefined") module.exports = { upTo, samples, drawn, at, range, rows, clicked, number };
if (typeof document !== "undefined") show();

function show() {
  const by = id => document.getElementById(id), holder = by("figure"), data = JSON.parse(by("data").textContent);
  const hidden = new Set(), called = line => [data.who[line.who].words, line.words].filter(Boolean).join(": ");
  const lines = data.panels.flatMap((panel, p) => panel.lines.map((line, l) => ({ ...line, key: `${p}.${l}`, panel, drawn: drawn(line, data.to) })));
  const of = panel => lines.filter(line => line.panel === panel), shown = line => !hidden.has(line.key);
  let from = data.from, to = data.to, cursor = null, charts = [];

  /** Value of a line at a time, in words; of marks, their number since the left edge. */
  function said(line, time) {
    if (line.panel.kind === "bars") return line.spans.some(([a, b]) => a <= time && time < b) ? "ON" : "OFF";
    if (line.panel.kind === "marks") return String(Math.max(0, upTo(line.t, time) - upTo(line.t, from)));
    const value = at(line.drawn, time);
    return (line.panel.names || {})[value] || number(value);
  }

  /** Events of a panel of marks near a time, with their explanations. */
  function events(panel, time, reach) {
    const kind = panel.words.endsWith("marked") ? "mark" : "drop";
    return of(panel).filter(shown).flatMap(line => line.t.filter(t => Math.abs(t - time) <= reach).map(t => {
      const link = data.who[line.who].words, told = data.why.filter(one => one.kind === kind && one.link === link && Math.abs(one.t - t) < 2e-9);
      return { t, kind, link, text: told.map(one => one.text).join("\n\n") };
    }));
  }

  /** Shows why a packet was dropped or marked. */
  function explain(event) {
    const box = by("why");
    if (!box) return;
    box.hidden = !event;
    if (!event) return;
    const time = String(Number(event.t.toFixed(9)));
    box.querySelector("pre").textContent = event.text || `${time} s: ${event.kind} at ${event.link}. This page has no explanation of it. For one, run:\n${data.explain}${time}s`;
    point(event.t);
  }

  /** The next explained event after the cursor, or before it. */
  function step(back) {
    const after = data.why.filter(one => cursor === null || (back ? one.t < cursor - 1e-9 : one.t > cursor + 1e-9));
    const next = back ? after.at(-1) : after[0];
    if (!next) return;
    if (next.t < from || next.t > to) zoom(next.t - (to - from) / 2, next.t + (to - from) / 2);
    explain({ ...next, text: data.why.filter(one => one.t === next.t).map(one => one.text).join("\n\n") });
  }

  /** Bars of periods and strokes of instants, a row for each line; and the end of the warm-up. */
  function paint(u, panel) {
    const { ctx, bbox } = u, x = time => Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(time, "x", true)));
    of(panel).forEach((line, l) => {
      if (panel.kind === "lines" || !shown(line)) return;
      const row = bbox.height / panel.lines.length, top = bbox.top + (l + 0.2) * row;
      ctx.fillStyle = data.who[line.who].colour;
      for (const [a, b] of line.spans || line.t.map(time => [time, time]))
        if (b >= from && a <= to) ctx.fillRect(x(a), top, Math.max(1.2, x(b) - x(a) - 1), row * 0.6);
    });
    ctx.fillStyle = "#5b6670";
    if (data.warmup > from && data.warmup < to)
      for (let y = bbox.top; y < bbox.top + bbox.height; y += 8) ctx.fillRect(x(data.warmup), y, 2, 2);
  }

  /** Limits of a vertical axis. */
  function fit(mine) {
    const found = mine.filter(shown).map(line => range(line.drawn, from, to)).filter(Boolean).flat();
    const part = { pad: 0.06, soft: 0, mode: 3 };
    return found.length ? uPlot.rangeNum(Math.min(...found), Math.max(...found), { min: part, max: part }) : [0, 1];
  }

  function chart(panel, width, height, last, left) {
    const mine = of(panel), isLines = panel.kind === "lines", font = '11px Inter, "Helvetica Neue", Arial, sans-serif';
    const grid = { stroke: "#e3e6e8", width: 1 }, ticks = { ...grid, size: 4 };
    const step = align => uPlot.paths.stepped({ align });
    const paths = { post: step(1), pre: step(-1) };
    const u = new uPlot({
      width, height: (isLines ? height : ROW * mine.length + 8) + (last ? AXIS : 8), padding: [4, 8, 0, 0],
      focus: { alpha: 0.25 }, legend: { markers: { dash: (_, s) => ["solid", "dashed", "dotted"][s ? mine[s - 1].dash || 0 : 0] } },
      cursor: {
        y: false, points: { show: false }, focus: { prox: isLines ? 4 : 0 }, drag: { x: true, y: false, setScale: false },
        sync: { key: "run", filters: { pub: kind => kind === "mousemove" || kind === "mouseleave" } },
        bind: { dblclick: () => () => { whole(); return null; } },
      },
      scales: { x: { time: false, range: () => [from, to] }, y: { range: () => isLines ? fit(mine) : [0, mine.length] } },
      axes: [
        { font, grid, ticks, size: last ? AXIS - 16 : 8, gap: 3, stroke: "#1c2328", values: last ? undefined : (_, all) => all.map(() => ""),
          label: last ? "time (s)" : undefined, labelFont: font, labelSize: 16, labelGap: 0 },
        { font, grid: { ...grid, show: isLines }, ticks: { ...ticks, show: isLines }, size: left, gap: 3, stroke: "#1c2328", space: 24,
          incrs: panel.names ? [1, 2, 5, 10] : undefined,
          values: (_, all) => all.map(value => !isLines ? "" : (panel.names || {})[value] || (panel.names ? "" : number(value))) },
      ],
      series: [{}, ...mine.map(line => ({
        label: called(line), stroke: data.who[line.who].colour, width: 1.4, dash: DASHES[line.dash || 0], show: shown(line),
        paths: paths[line.draw], points: { show: false }, value: (v, _, s, n) => n === null || n === undefined ? "" : said(line, v.data[0][n]),
      }))],
      hooks: {
        draw: [v => paint(v, panel)],
        setSelect: [v => {
          const { left: a, width: wide } = v.select;
          if (wide < 4) return;
          v.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          zoom(v.posToVal(a, "x"), v.posToVal(a + wide, "x"));
        }],
        setCursor: [v => {
          if (v.cursor.left >= 0 && v.cursor.event) cursor = v.posToVal(v.cursor.left, "x");
          by("time").textContent = v.cursor.left < 0 ? "" : `${number(v.posToVal(v.cursor.left, "x"))} s`;
        }],
        setSeries: [(v, s, change) => {
          if (change.show === undefined || s === null) return;
          if (change.show) hidden.delete(mine[s - 1].key); else hidden.add(mine[s - 1].key);
          u.root.querySelectorAll(".u-series th")[s].setAttribute("aria-checked", String(change.show));
        }],
      },
    }, uPlot.join(mine.map(({ drawn: { t, v } }) => [t, isLines ? v : v.map(() => null)])), holder.querySelectorAll(".chart")[data.panels.indexOf(panel)]);
    if (panel.kind === "marks") {
      let down = 0;
      u.over.style.cursor = "pointer";
      u.over.addEventListener("mousedown", event => { down = event.clientX; });
      u.over.addEventListener("mouseup", event => { // uPlot stops clicks after a move of one pixel
        if (Math.abs(event.clientX - down) >= 4) return;
        const time = u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x"), reach = 6 * (to - from) / u.over.clientWidth;
        explain(clicked(events(panel, time, reach), time, reach));
      });
    }
    u.root.querySelectorAll(".u-series th").forEach((entry, s) => {
      if (s === 0) return;
      const named = { role: "checkbox", tabindex: 0, "aria-checked": String(shown(mine[s - 1])), "aria-label": `${panel.title}: ${called(mine[s - 1])}` };
      for (const name in named) entry.setAttribute(name, named[name]);
      entry.addEventListener("keydown", event => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); entry.click(); }
      });
    });
    return u;
  }

  /** Draws every chart; on paper all fit on one page where they can. */
  function build(paper) {
    charts.forEach(u => u.destroy());
    const wide = paper ? 700 : holder.clientWidth || 900, beside = paper || wide >= 760;
    holder.classList.toggle("beside", beside);
    const height = paper ? Math.max(50, Math.min(HEIGHT, 900 / data.panels.length - 34)) : HEIGHT;
    const left = data.panels.some(panel => panel.names) ? 92 : 56;
    charts = data.panels.map((panel, p) => chart(panel, beside ? wide - (paper ? 180 : 270) : wide, height, p === data.panels.length - 1, left));
    table();
  }

  /** Range of each line in the time shown. */
  function table() {
    const text = line => {
      const { t } = line.drawn, found = line.panel.kind === "lines" && range(line.drawn, from, to);
      if (line.panel.kind === "marks") return String(t.filter(time => time >= from && time <= to).length);
      if (line.panel.kind === "lines") return found ? `${number(found[0])} to ${number(found[1])}` : "–";
      return `${number(100 / (to - from) * line.spans.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from)), 0))} % ON`;
    };
    for (const line of lines) document.querySelector(`[data-line="${line.key}"]`).textContent = text(line);
    const all = from <= data.from && to >= data.to;
    by("from").value = Number(from.toPrecision(9));
    by("to").value = Number(to.toPrecision(9));
    by("whole").disabled = all;
    by("range").textContent = `${number(from)} s to ${number(to)} s${all ? ", the whole run" : ""}`;
  }

  /** Shows a range of time within the run. */
  function zoom(a, b) {
    if (!Number.isFinite(a) || !Number.isFinite(b)) return table();
    const most = data.to - data.from, least = Math.max(most * 1e-6, 1e-6), wide = Math.min(most, Math.max(least, Math.abs(b - a)));
    from = Math.max(data.from, Math.min((a + b - wide) / 2, data.to - wide));
    to = from + wide;
    charts.forEach(u => u.setScale("x", { min: from, max: to }));
    table();
  }
  const around = (time, factor) => zoom(time - (time - from) * factor, time + (to - time) * factor);
  const pan = share => zoom(from + share * (to - from), to + share * (to - from));
  const middle = () => cursor !== null && cursor >= from && cursor <= to ? cursor : (from + to) / 2;
  const whole = () => zoom(data.from, data.to);

  /** Puts the cursor at a time, and its values into the live region for screen readers. */
  function point(time) {
    cursor = time;
    charts.forEach(u => u.setCursor(time === null ? { left: -10, top: -10 } : { left: u.valToPos(time, "x"), top: 1 }));
    if (time === null) return;
    const parts = data.panels.map(panel => [panel.title, of(panel).filter(shown).map(line => `${called(line)} ${said(line, time)}`).join(", ")]);
    by("said").textContent = `At ${number(time)} seconds. ${parts.filter(([, text]) => text).map(part => part.join(": ")).join(". ")}.`;
  }
  const move = share => point(Math.min(to, Math.max(from, middle() + share * (to - from))));

  const keys = {
    ArrowLeft: shift => shift ? pan(-0.1) : move(-0.01), ArrowRight: shift => shift ? pan(0.1) : move(0.01),
    PageUp: () => pan(-0.5), PageDown: () => pan(0.5), Home: whole, 0: whole, Escape: () => { point(null); explain(null); }, Enter: step,
    "+": () => around(middle(), 0.5), "=": () => around(middle(), 0.5), "-": () => around(middle(), 2),
  };
  holder.addEventListener("keydown", event => {
    if (event.target !== holder || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key](event.shiftKey);
  });
  holder.addEventListener("mousedown", () => holder.focus({ preventScroll: true }));
  holder.addEventListener("wheel", event => {
    if (!event.target.closest(".u-over") || !(event.ctrlKey || event.metaKey || event.shiftKey || document.activeElement === holder)) return;
    event.preventDefault();
    around(middle(), Math.pow(1.0015, Math.max(-400, Math.min(400, event.deltaY || event.deltaX))));
  }, { passive: false });

  const click = (id, work) => by(id).addEventListener("click", work);
  if (by("close")) click("close", () => explain(null));
  click("whole", whole);
  click("in", () => around(middle(), 0.5));
  click("out", () => around(middle(), 2));
  click("print", () => window.print());
  click("csv", () => {
    const text = lines.filter(shown).map(line => rows(samples(line), `${line.panel.words}: ${called(line)}`, line.panel.unit, from, to));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["series,unit,time_s,value\n", ...text], { type: "text/csv" }));
    link.download = "view.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  for (const id of ["from", "to"]) by(id).addEventListener("change", () => zoom(Number(by("from").value), Number(by("to").value)));
  document.querySelectorAll("[data-who]").forEach(box => box.addEventListener("change", () => data.panels.forEach((panel, p) =>
    panel.lines.forEach((line, l) => { if (String(line.who) === box.dataset.who) charts[p].setSeries(l + 1, { show: box.checked }); }))));
  let width = holder.clientWidth;
  window.addEventListener("resize", () => { if (holder.clientWidth !== width) { width = holder.clientWidth; build(false); } });
  window.addEventListener("beforeprint", () => { point(null); build(true); });
  window.addEventListener("afterprint", () => build(false));
  build(false);
}
