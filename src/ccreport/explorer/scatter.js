// The scatter plot: the listed runs by any two measures. A box drawn over it keeps its runs in the list.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});
  const HEIGHT_PX = 190;
  // Beyond this many points a canvas is drawn, which is faster.
  const SVG_POINTS = 2000;
  // Points of several algorithms have no algorithm's colour.
  const SEVERAL = { name: "several algorithms", light: "#6a6f78", dark: "#a0a9b6", marker: "cross" };
  const SUSPECT = "#c77700";
  // Between the outermost points and the edges of the plot: half a mark with its ring.
  const ROOM_PX = 10;
  // From this ratio of the largest to the smallest value on, equal distances are equal factors.
  const LOG_RATIO = 100;
  // With values on both sides of 0, or at it: from this ratio of the farthest to the median distance on, distances beyond
  // the upper quartile are shown by their logarithms, or most runs were one point at 0.
  const SYMLOG_RATIO = 20;
  // So few values, as 0, 0.001 and 0.1 % loss, were set: beyond 0 equal distances are equal factors, from the least on.
  const SET_VALUES = 12;

  explorer.listMeasures = list =>
    [...list.columns.values()].filter(column => !column.isText && column.values.some(value => value !== null));

  // What is drawn unless a reader says otherwise: the rate, and how odd it is where most runs have a condition's worth
  // of others beside them.
  explorer.chooseMeasures = list => {
    const known = key => list.columns.get(key).values.filter(value => value !== null).length;
    return ["rate_bps", known("deviation_z") * 2 > list.count ? "deviation_z" : "retransmit_ratio"];
  };

  // `box` is [[from, to], [from, to]] of the two measures `axes`.
  explorer.isInBox = (list, axes, box, row) =>
    axes.every((key, i) => {
      const value = list.columns.get(key).values[row];
      return value !== null && value >= box[i][0] && value <= box[i][1];
    });

  const styleOf = (list, row) => {
    const ccs = explorer.listAlgorithms(list, row);
    return (ccs.length === 1 && list.algorithms.get(ccs[0])) || SEVERAL;
  };

  // The algorithms of which some run has no other: what the colours mean.
  explorer.listStyles = list => {
    const seen = new Set(Array.from({ length: list.count }, (_, row) => styleOf(list, row)));
    return [...list.algorithms.values(), SEVERAL].filter(style => seen.has(style));
  };

  explorer.placePoints = (list, axes, rows) => {
    const [x, y] = axes.map(key => list.columns.get(key));
    return rows
      .filter(row => x.values[row] !== null && y.values[row] !== null)
      .map(row => ({
        row,
        x: x.values[row],
        y: y.values[row],
        c: styleOf(list, row).name,
        odd: list.columns.get("state").value(row) === "suspect",
        n: `${explorer.nameRun(list, row)} (${list.columns.get("job").show(row)})`,
      }));
  };

  // A range with a single value in its middle, from 0 where it is that: one as wide as others of its size.
  const surround = value => (value === 0 ? [0, 1] : [value - Math.abs(value) / 2, value + Math.abs(value) / 2]);

  const scaleOf = ({ values }, rows) => {
    const shown = rows.map(row => values[row]).filter(value => value !== null);
    // Where the filters keep nothing, the axis is that of all runs.
    const known = shown.length ? shown : values.filter(value => value !== null);
    const [least, most] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    const domain = most > least ? [least, most] : surround(least);
    const room = { nice: false, padding: ROOM_PX };
    if (least > 0 && most / least >= LOG_RATIO) return { type: "log", domain, ...room };
    const distances = known.map(Math.abs).sort((a, b) => a - b);
    const positive = [...new Set(distances)].filter(distance => distance > 0);
    if (least === 0 && positive.length < SET_VALUES && most / positive[0] >= LOG_RATIO) {
      return { type: "symlog", domain, constant: positive[0], ...room };
    }
    const quantile = share => distances[Math.floor(share * (distances.length - 1))];
    if (least <= 0 && quantile(1) > 0 && quantile(1) >= SYMLOG_RATIO * quantile(0.5)) {
      return { type: "symlog", domain, constant: quantile(0.75) || positive[0], ...room };
    }
    return { type: "linear", domain, zero: false, ...room };
  };

  // A symlog scale has the ticks of a linear one, of which all but one or two are beside each other.
  const ticksOf = ({ type, domain, constant }) => {
    if (type !== "symlog") return { tickCount: 5 };
    const [first, last] = [constant, Math.max(...domain.map(Math.abs))].map(value => Math.ceil(Math.log10(value)));
    const powers = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 10 ** (first + i));
    const values = [...powers.map(power => -power), 0, ...powers].filter(value => value >= domain[0] && value <= domain[1]);
    return { values, format: ",~r" };
  };

  // The axes fit `rows`, those that the filters keep; without, all runs.
  explorer.describeScatter = (list, { axes, box, width, isDark, rows = [...Array(list.count).keys()] }) => {
    const columns = axes.map(key => list.columns.get(key));
    const styles = explorer.listStyles(list);
    const names = styles.map(style => style.name);
    const scales = columns.map(column => scaleOf(column, rows));
    const field = (name, i) => ({
      field: name,
      type: "quantitative",
      scale: scales[i],
      axis: { title: explorer.nameColumn(columns[i]), ...ticksOf(scales[i]) },
    });
    const [x, y] = [field("x", 0), field("y", 1)];
    const mark = { fill: "#808080", fillOpacity: 0.15, stroke: "#808080" };
    const brush = { name: "brush", select: { type: "interval", mark }, ...(box ? { value: { x: box[0], y: box[1] } } : {}) };
    const points = {
      data: { name: "points" },
      params: [brush],
      mark: { type: "point", filled: true, size: 42 },
      encoding: {
        x,
        y,
        color: {
          field: "c",
          type: "nominal",
          scale: { domain: names, range: styles.map(style => (isDark ? style.dark : style.light)) },
          legend: null,
        },
        shape: {
          field: "c",
          type: "nominal",
          scale: { domain: names, range: styles.map(style => style.marker) },
          legend: null,
        },
        opacity: { condition: { param: "brush", value: 0.8 }, value: 0.15 },
        tooltip: [
          { field: "n", title: "run" },
          { field: "x", title: explorer.nameColumn(columns[0]), format: ",.4~r" },
          { field: "y", title: explorer.nameColumn(columns[1]), format: ",.4~r" },
        ],
      },
    };
    const ring = (name, stroke, size, transform = []) => ({
      data: { name },
      transform,
      mark: { type: "point", shape: "circle", filled: false, size, stroke, strokeWidth: 2, opacity: 1 },
      encoding: { x, y },
    });
    const bounds = axes.flatMap((key, i) => (key === "deviation_z" ? [{ channel: "xy"[i], z: [-explorer.OUTLIER_Z, explorer.OUTLIER_Z] }] : []));
    const rules = bounds.map(({ channel, z }) => ({
      data: { values: z.map(value => ({ [channel]: value })) },
      mark: { type: "rule", strokeDash: [4, 3], clip: true, color: "#808080" },
      encoding: { [channel]: { field: channel, type: "quantitative" } },
    }));
    const { ink } = isDark ? list.paper.dark : list.paper.light;
    const spec = {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      datasets: { points: [], picked: [] },
      width,
      height: HEIGHT_PX,
      layer: [...rules, points, ring("points", SUSPECT, 130, [{ filter: "datum.odd" }]), ring("picked", ink, 220)],
      config: explorer.makeConfig(list.paper, isDark),
    };
    return { spec, renderer: list.count > SVG_POINTS ? "canvas" : "svg", label: columns.map(explorer.nameColumn) };
  };

  // Draw the axes; the points come by `view.data`. `actions`: narrow(box or null), pick(row).
  explorer.drawScatter = async (container, { spec, renderer }, { narrow, pick }) => {
    const view = await explorer.embed(container, spec, renderer);
    const sorted = range => [...range].sort((a, b) => a - b);
    view.addSignalListener("brush", (_, { x, y }) => narrow(x && y ? [sorted(x), sorted(y)] : null));
    view.addEventListener("click", (_, item) => item?.datum?.row !== undefined && pick(item.datum.row));
    return view;
  };
})();
