// The charts of the picked runs: panels over one time axis, zoomed together by the strip above them.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});
  // A state lasts between two samples, so its line bridges bins without one; a rate that nobody observed is a gap.
  const MEASURES = [
    { key: "rate", combine: "sum" },
    { key: "retransmits", title: "Retransmits", unit: "segments", combine: "sum" },
    { key: "cwnd", title: "Congestion window", unit: "segments", combine: "mean", isState: true },
    { key: "rtt", title: "RTT", unit: "ms", combine: "mean", isState: true },
  ];
  // As figures name it.
  const nameRate = runs => {
    const known = runs.filter(({ flows }) => flows.some(flow => flow.rate));
    const names = [[true, "acknowledged"], [false, "throughput"]].filter(([is]) => known.some(run => Boolean(run.is_acknowledged) === is));
    const name = names.map(([, name]) => name).join(" or ") || "throughput";
    return name[0].toUpperCase() + name.slice(1);
  };
  // A line rate further above all rates than this would flatten them, as in figures.
  const LINE_RATE_AT_MOST = 4;
  // Of the highest value, so that no curve is on the upper edge of the strip.
  const STRIP_ROOM = 1.15;
  // Colour and dash are the algorithm's, as in figures. Of two or three runs that share a panel the dash is the run's, as
  // its width is, and letters are at the ends of lines; more have a small panel each, as nobody tells more lines apart.
  // The dots of the line rate are no run's.
  const STRENGTHS = [
    { width: 2.6, opacity: 1, dash: [1, 0] },
    { width: 2, opacity: 0.9, dash: [9, 4] },
    { width: 1.6, opacity: 0.9, dash: [8, 3, 2, 3] },
  ];
  // Of the width of an algorithm's line.
  const FLOW_WIDTH = 0.6;
  const FLOW_OPACITY = 0.85;
  const LETTER_PX = 9;
  // From one letter to the next below it.
  const LETTER_STEP_PX = 11;
  // Letters of more lines would hide each other.
  const LETTERED_LINES = 8;
  const LETTERS = "ABCDEF";
  const PANEL_PX = 92;
  const SMALL_PANEL_PX = 58;
  const GAP_PX = 10;
  const STRIP_PX = 30;
  const AXIS_PX = 46;
  // Beyond this many points a canvas without tooltips is drawn, which is faster, in place of SVG, which prints better.
  const SVG_POINTS = 20000;
  explorer.runLetters = LETTERS;
  // The strength and dash of each run where they tell runs apart, else null.
  explorer.listStrengths = count => (count > 1 && count <= STRENGTHS.length ? STRENGTHS.slice(0, count) : null);

  // Not Math.max(...values): a few runs of many flows have more values than a call takes arguments.
  const findLargest = values => values.reduce((largest, value) => Math.max(largest, value ?? 0), 0);
  const roundTime = time => Math.round(time * 1000) / 1000;

  // A measure's lines: {key, cc, run, name, points: [[time, value]]}.
  explorer.collectLines = (runs, measure, by) => {
    const lines = [];
    runs.forEach(({ flows, bin_s: bin }, run) => {
      const observed = flows.filter(flow => flow[measure.key]);
      const points = flow => flow[measure.key][1].map((value, i) => [roundTime(flow[measure.key][0] + i * bin), value]);
      if (by === "flow") {
        observed.forEach(flow => lines.push({ run, cc: flow.cc, name: flow.name, points: points(flow) }));
        return;
      }
      for (const cc of new Set(observed.map(flow => flow.cc))) {
        const own = observed.filter(flow => flow.cc === cc);
        lines.push({ run, cc, name: null, points: combine(own.map(points), measure.combine) });
      }
    });
    return lines;
  };

  const combine = (flows, how) => {
    const bins = new Map();
    for (const [time, value] of flows.flat()) {
      const bin = bins.get(time) ?? { sum: 0, count: 0 };
      if (value !== null) (bin.sum += value), (bin.count += 1);
      bins.set(time, bin);
    }
    const value = ({ sum, count }) => (count === 0 ? null : how === "sum" ? sum : sum / count);
    return [...bins].sort((a, b) => a[0] - b[0]).map(([time, bin]) => [time, value(bin)]);
  };

  // Rows for Vega: t time, v value, k line, c algorithm, r run, n what a reader sees of it.
  const flatten = (lines, list, isMany, divisor) =>
    lines.flatMap(({ run, cc, name, points }, i) => {
      const algorithm = list.algorithms.get(cc)?.name ?? cc;
      const label = [isMany ? LETTERS[run] : null, algorithm, name].filter(Boolean).join(" · ");
      const shared = { k: `${run}/${cc}/${name ? i : ""}`, c: cc, r: LETTERS[run], n: label };
      return points.map(([t, v]) => ({ t, v: v === null ? null : v / divisor, ...shared }));
    });

  // `unit` of one value, `basis` the words behind the panel's title.
  const nameUnit = ({ key, combine: how }, unit, runs, by) => {
    const bins = new Set(runs.map(run => run.bin_s));
    const perBin = `segments per ${bins.size > 1 ? "bin" : `${[...bins][0]} s`}`;
    const named = key === "retransmits" ? perBin : unit;
    return { unit: named, basis: by === "flow" ? named : `${named}, ${how} of flows` };
  };

  // Return the specification of all panels, the measures shown and what was left out. `lineRates` are in the list's unit.
  explorer.describeChart = (list, runs, { by, span, width, isDark, lineRates = [] }) => {
    const isMany = runs.length > 1;
    const datasets = {};
    const shown = [];
    const missing = [];
    const limitsOf = ({ key }, most) => (key === "rate" ? lineRates.filter(rate => rate <= LINE_RATE_AT_MOST * most) : []);
    for (const known of MEASURES) {
      const measure = known.key === "rate" ? { ...known, title: nameRate(runs) } : known;
      const lines = explorer.collectLines(runs, measure, by);
      const { unit, divisor } = measure.key === "rate" ? list.rate : { ...measure, divisor: 1 };
      const most = findLargest(lines.flatMap(({ points }) => points.map(([, value]) => value))) / divisor;
      const all = flatten(lines, list, isMany, divisor);
      const rows = measure.isState ? all.filter(row => row.v !== null) : all;
      if (!rows.some(row => row.v !== null)) missing.push(measure.title);
      else shown.push({ ...measure, ...nameUnit(measure, unit, runs, by), lines: lines.length, most, limits: limitsOf(measure, most) });
      datasets[measure.key] = rows;
    }
    const end = findLargest(shown.flatMap(({ key }) => datasets[key].map(row => row.t)));
    const points = shown.reduce((sum, { key }) => sum + datasets[key].length, 0);
    const isLight = points <= SVG_POINTS;
    const strengths = explorer.listStrengths(runs.length);
    const room = width - (strengths ? 2 * LETTER_PX : 0);
    const look = { scales: makeScales(list, datasets, isDark, strengths), by, end, width: room, isLight, strengths };
    const within = span && span[0] < end ? span : null;
    const make = runs.length > STRENGTHS.length ? makeGrid : makePanel;
    const panels = shown.map((measure, i) => make(measure, look, i === shown.length - 1, runs.length));
    if (panels.length) panels.unshift(makeStrip(shown[0], look, within));
    const spec = {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      datasets,
      params: [
        { name: "lit", value: "" },
        { name: "from", expr: "isValid(strip.t) ? strip.t[0] : 0" },
        { name: "until", expr: `isValid(strip.t) ? strip.t[1] : ${end}` },
      ],
      vconcat: panels,
      spacing: 10,
      config: explorer.makeConfig(list.paper, isDark),
    };
    return { spec, shown, missing, end, isDark, span: within, renderer: isLight ? "svg" : "canvas" };
  };

  const makeScales = (list, datasets, isDark, strengths) => {
    const seen = new Set(Object.values(datasets).flatMap(rows => rows.map(row => row.c)));
    const ccs = [...new Set([...list.algorithms.keys(), ...seen])].filter(cc => seen.has(cc));
    const style = cc => list.algorithms.get(cc) ?? { light: "#767676", dark: "#8f8f8f", dash: [5, 3] };
    const colours = ccs.map(cc => (isDark ? style(cc).dark : style(cc).light));
    const dashes = strengths
      ? { field: "r", type: "nominal", scale: { domain: listLetters(strengths), range: strengths.map(({ dash }) => dash) } }
      : { field: "c", type: "nominal", scale: { domain: ccs, range: ccs.map(cc => style(cc).dash) } };
    const color = { field: "c", type: "nominal", scale: { domain: ccs, range: colours }, legend: null };
    return { color, strokeDash: { ...dashes, legend: null } };
  };

  const listLetters = strengths => [...LETTERS].slice(0, strengths.length);

  const ticksOf = width => Math.max(4, Math.round(width / 70));

  // A panel of all runs.
  const makePanel = (measure, look, isLast) => ({
    ...makeLayers(measure, look, isLast),
    name: measure.key,
    title: { text: nameMeasure(measure) },
    height: PANEL_PX,
  });

  // A small panel of each run, over the same axes: only the left ones and the lowest are labelled.
  const makeGrid = (measure, look, isLast, runsCount) => {
    const columns = runsCount > 4 && look.width > 280 ? 3 : 2;
    const width = Math.floor((look.width - GAP_PX * (columns - 1)) / columns);
    const cells = Array.from({ length: runsCount }, (_, run) => ({
      ...makeLayers(measure, { ...look, width }, isLast && run + columns >= runsCount, run % columns === 0),
      name: `${measure.key}_${LETTERS[run]}`,
      title: { text: LETTERS[run], fontSize: 11, frame: "group", offset: 2 },
      transform: [{ filter: `datum.r == '${LETTERS[run]}'` }],
      height: SMALL_PANEL_PX,
    }));
    return { title: { text: nameMeasure(measure) }, columns, align: "each", spacing: GAP_PX, concat: cells };
  };

  const nameMeasure = ({ title, basis, limits }) => `${title} (${basis}${limits.length ? "; dotted: line rate" : ""})`;

  // How strong a line is: less where another is pointed at, and by its run.
  const makeStrength = (by, strengths) => {
    const [thinner, fainter] = by === "flow" ? [FLOW_WIDTH, FLOW_OPACITY] : [1, 1];
    const isLit = "(lit == '' || lit == datum.k)";
    if (!strengths) return { opacity: { condition: { test: isLit, value: fainter }, value: 0.12 }, strokeWidth: { value: 2 * thinner } };
    const byRun = strengths.map(({ opacity }, i) => ({ test: `${isLit} && datum.r == '${LETTERS[i]}'`, value: opacity * fainter }));
    const widths = strengths.map(({ width }) => width * thinner);
    const scale = { domain: listLetters(strengths), range: widths };
    return { opacity: { condition: byRun, value: 0.12 }, strokeWidth: { field: "r", type: "ordinal", scale, legend: null } };
  };

  // The letters of runs at the right ends of their lines as far as they are shown, so far apart that none hides another: from
  // the lowest up each is moved to above the one before, then from the highest down to below the panel's edge and each other.
  const makeLetters = (most, { x, y, color }) => {
    const step = (LETTER_STEP_PX / PANEL_PX) * most;
    const spread = [["ascending", "max", -step], ["descending", "min", step]].flatMap(([order, op, distance]) => [
      { window: [{ op: "row_number", as: "place" }], sort: [{ field: "v", order }] },
      { calculate: `${op === "min" ? `min(${most}, datum.v)` : "datum.v"} + ${distance} * datum.place`, as: "v" },
      { window: [{ op, field: "v", as: "moved" }], sort: [{ field: "place" }], frame: [null, 0] },
      { calculate: `datum.moved - ${distance} * datum.place`, as: "v" },
    ]);
    return {
      mark: { type: "text", align: "left", dx: 2, fontSize: 11, fontWeight: "bold" },
      transform: [
        { filter: "isValid(datum.v) && datum.t >= from && datum.t <= until" },
        { aggregate: [{ op: "argmax", field: "t", as: "last" }], groupby: ["k", "r", "c"] },
        { calculate: "datum.last.t", as: "t" },
        { calculate: "datum.last.v", as: "v" },
        ...spread,
      ],
      encoding: { x, y, color, text: { field: "r" } },
    };
  };

  // Where the axis of values up to `most` ends, with about so many steps of 1, 2 or 5 times a power of ten.
  const findNice = (most, count) => {
    const power = 10 ** Math.floor(Math.log10(most / count));
    const times = most / count / power;
    const step = power * (times >= Math.sqrt(50) ? 10 : times >= Math.sqrt(10) ? 5 : times >= Math.SQRT2 ? 2 : 1);
    return step * Math.ceil(most / step);
  };

  const makeLayers = ({ key, unit, most, limits, lines }, { scales, by, width, isLight, strengths }, isLast, isLeft = true) => {
    const x = {
      field: "t",
      type: "quantitative",
      scale: { domain: [{ expr: "from" }, { expr: "until" }], nice: false, zero: false },
      axis: {
        title: isLast ? "Time (s)" : null,
        labels: isLast,
        tickCount: ticksOf(width),
        grid: false,
        labelFlush: true,
      },
    };
    const scale = { domain: [0, Math.max(most, ...limits) || 1], nice: 4 };
    const axis = { title: null, tickCount: 4, ...(isLeft ? {} : { labels: false, ticks: false, minExtent: 0 }) };
    const y = { field: "v", type: "quantitative", scale, axis };
    const line = {
      mark: { type: "line", clip: true, strokeJoin: "round" },
      encoding: { x, y, ...scales, detail: { field: "k" }, ...makeStrength(by, strengths) },
    };
    const highest = findNice(scale.domain[1], scale.nice);
    const letters = strengths && lines <= LETTERED_LINES ? [makeLetters(highest, { x, y, color: scales.color })] : [];
    const tooltip = [
      { field: "n", title: "line" },
      { field: "t", title: "time (s)", format: ".2~f" },
      { field: "v", title: unit, format: ",.4~r" },
    ];
    const catcher = {
      mark: { type: "point", clip: true, size: 120, opacity: 0, filled: true },
      transform: [{ filter: "isValid(datum.v)" }],
      encoding: { x, y, detail: { field: "k" }, tooltip },
    };
    const rules = {
      data: { values: limits.map(v => ({ v })) },
      mark: { type: "rule", strokeDash: [2, 3], color: "#808080" },
      encoding: { y: { field: "v", type: "quantitative" }, tooltip: { field: "v", title: `line rate (${unit})`, format: ",.4~r" } },
    };
    const layer = [...(limits.length ? [rules] : []), line, ...letters, ...(isLight ? [catcher] : [])];
    return { data: { name: key }, width, layer };
  };

  const makeStrip = ({ key, title, most }, { scales, end, width }, span) => {
    const mark = { fill: "#808080", fillOpacity: 0.25, stroke: "#808080" };
    const select = { type: "interval", encodings: ["x"], mark };
    const axis = { tickCount: ticksOf(width), title: null, grid: false, labelFlush: true };
    const words = `${title} of the whole run – drag to zoom all panels`;
    return {
      name: "overview",
      title: { text: words, fontWeight: "normal", fontSize: 11 },
      data: { name: key },
      width,
      height: STRIP_PX,
      params: [{ name: "strip", select, ...(span ? { value: { x: span } } : {}) }],
      mark: { type: "line", strokeWidth: 1, opacity: 0.8 },
      encoding: {
        x: { field: "t", type: "quantitative", scale: { domain: [0, end], nice: false }, axis },
        y: { field: "v", type: "quantitative", scale: { domain: [0, STRIP_ROOM * most || 1], nice: false }, axis: { labels: false, ticks: false, grid: false, title: null } },
        ...scales,
        detail: { field: "k" },
      },
    };
  };

  explorer.makeConfig = (paper, isDark) => {
    const { ink, faint, grid, domain } = isDark ? paper.dark : paper.light;
    const axis = { labelColor: faint, titleColor: faint, gridColor: grid, domainColor: domain, tickColor: domain };
    return {
      background: null,
      font: paper.font,
      aria: false,
      padding: { left: 2, right: 10, top: 2, bottom: 2 },
      view: { stroke: null },
      axis: { ...axis, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 4 },
      axisY: { minExtent: AXIS_PX, maxExtent: AXIS_PX },
      title: {
        anchor: "start", frame: "bounds", orient: "top", fontSize: 12, fontWeight: 600, color: ink, offset: 5,
      },
    };
  };

  // The width of the plot area in a container.
  explorer.plotWidth = container => Math.max(160, Math.floor(container.clientWidth) - AXIS_PX - 18);

  const results = new WeakMap();

  // Draw a specification in a container, in place of what was drawn there before; return the Vega view.
  explorer.embed = async (container, spec, renderer) => {
    const options = {
      mode: "vega-lite",
      renderer,
      // Expressions are interpreted: no eval, so that the strictest content security policy holds.
      ast: true,
      actions: false,
      defaultStyle: false,
      // A style element of its own is what the policy forbids; explorer.css has its styles.
      tooltip: { disableDefaultStyle: true },
    };
    // Vega puts a role and a label of its own on the element that it draws in: the container keeps its own. That says
    // what is drawn; hundreds of marks would drown it.
    const paper = explorer.make("div");
    const result = await window.vegaEmbed(paper, spec, options);
    paper.setAttribute("aria-hidden", "true");
    results.get(container)?.finalize();
    results.set(container, result);
    container.replaceChildren(paper);
    return result.view;
  };

  // Draw the panels; call `zoomed` with [from, until] or null when a reader drags.
  explorer.drawChart = async (container, chart, zoomed) => {
    const view = await explorer.embed(container, chart.spec, chart.renderer);
    const light = (_, item) => {
      const key = item?.datum?.k ?? "";
      if (view.signal("lit") !== key) view.signal("lit", key).runAsync();
    };
    view.addEventListener("pointermove", light);
    view.addEventListener("pointerleave", () => light(null, null));
    view.addSignalListener("strip", (_, value) => zoomed(value?.t ? value.t.map(roundTime) : null));
  };
})();
