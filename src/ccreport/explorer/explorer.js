// The explorer: what is picked and filtered, kept in the page's URL, and the data of runs, loaded when they are picked.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});
  const folder = new URL(".", document.currentScript.src).href;
  const { make } = explorer;
  // Selects of values, or from … to.
  const RANGES = ["rtt", "loss"];
  // Of a path as it was set up, where the archive says how.
  const PATH = ["bottleneck", "buffer"];
  const SELECTS = ["exhibit", "session", "job", "host", "mode", "cc", "flows", "state", ...RANGES, ...PATH];
  const FILTERS = ["find", ...SELECTS, "rtt_min", "rtt_max", "loss_min", "loss_max"];
  const MOST_RUNS = explorer.runLetters.length;
  // With more runs, or on a phone, the scatter plot is drawn when it is asked for: the list must be there at once.
  const SCATTERED_RUNS = 2000;
  const WIDE = "(min-width: 84rem)";
  const PHONE = "(max-width: 40rem)";
  const SUSPECT = "suspect";
  // By how much of it a sum of numbers of 4 digits differs from a number of 4 digits.
  const ROUNDING = 0.001;
  // Options for what a link filters by and no run has.
  const ABSENT = "x-absent";
  const byId = id => document.getElementById(`x-${id}`);

  let list;
  let table;
  // The runs that the filters keep, and of these the ones within the box of the scatter plot, which the table shows.
  let kept = [];
  let rows = [];
  let state;
  let drawing = 0;
  // The series of the picked runs, once they are loaded.
  let drawnRuns = [];
  let drawnWidth = 0;
  let scatter = null;
  let scattering = 0;
  let scatterWidth = 0;
  const loaded = new Map();

  // Scripts: each calls one of the functions below with its data.
  const scripts = new Map();
  const loadScript = name => {
    if (!scripts.has(name)) {
      const script = make("script", { src: folder + name.split("/").map(encodeURIComponent).join("/") });
      scripts.set(
        name,
        new Promise((resolve, reject) => {
          script.addEventListener("load", resolve);
          script.addEventListener("error", () => (scripts.delete(name), reject(new Error(name))));
        }),
      );
      document.head.append(script);
    }
    return scripts.get(name);
  };
  explorer.loadRun = (id, series) => loaded.set(id, series);

  explorer.loadList = packed => {
    list = explorer.unpackList(packed);
    table = new explorer.Table(list, byId("table"), { sort, turn, pick, toggle });
    for (const name of RANGES) byId(name).hidden = !explorer.hasChoices(list, name);
    for (const name of SELECTS.filter(name => !byId(name).hidden)) {
      const options = explorer.listChoices(list, name).map(([value, label]) => make("option", { value }, label));
      byId(name).append(...options);
    }
    for (const name of RANGES) byId(name).append(make("option", { value: explorer.RANGE }, "from – to"));
    // The archive of no publication, or of no emulated path.
    for (const name of ["exhibit", ...PATH]) byId(name).parentElement.hidden = explorer.listChoices(list, name).length === 0;
    for (const name of ["x", "y"]) {
      byId(name).append(...explorer.listMeasures(list).map(({ key, label }) => make("option", { value: key }, label)));
    }
    byId("styles").append(...explorer.listStyles(list).map(style => make("li", {}, makePoint(style), style.name)));
    explorer.offerSql(packed.tables, byId, loadScript);
    byId("fold").open = !matchMedia(PHONE).matches;
    byId("scatter").open = list.count <= SCATTERED_RUNS && matchMedia(WIDE).matches;
    listen();
    document.getElementById("explorer").hidden = false;
    restore();
    if (state.picked.length > 0) showView();
  };

  // Where there is no room beside the list, what is picked is below it.
  const showView = () => {
    if (!matchMedia(WIDE).matches) byId("view").scrollIntoView();
  };

  // State and URL: #find=…&sort=-rate_bps&page=2&run=…&run=…&by=flow&t=2-6&x=rtt_ms&y=jain_ratio&box=10~20~0.5~1
  const readUrl = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const filters = Object.fromEntries(FILTERS.map(name => [name, given.get(name) ?? ""]));
    const span = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(given.get("t") ?? "");
    const isSpan = span !== null && Number(span[1]) < Number(span[2]);
    const ids = [...new Set(given.getAll("run"))];
    const axes = explorer.chooseMeasures(list).map((key, i) => (list.columns.has(given.get("xy"[i])) ? given.get("xy"[i]) : key));
    const box = (given.get("box") ?? "").split("~").map(text => (text ? Number(text) : NaN));
    return {
      filters,
      sort: list.columns.has((given.get("sort") ?? "").replace(/^-/, "")) ? given.get("sort") : "",
      page: Math.max(0, (Number.parseInt(given.get("page"), 10) || 1) - 1),
      picked: ids.filter(id => list.rows.has(id)).map(id => list.rows.get(id)).slice(0, MOST_RUNS),
      unknown: ids.filter(id => !list.rows.has(id)),
      by: given.get("by") === "flow" ? "flow" : "algorithm",
      span: isSpan ? [Number(span[1]), Number(span[2])] : null,
      axes,
      box: box.length === 4 && box.every(Number.isFinite) ? [box.slice(0, 2), box.slice(2)] : null,
    };
  };

  const writeUrl = isStep => {
    const shown = new URLSearchParams();
    for (const row of state.picked) shown.append("run", list.id(row));
    if (state.by === "flow") shown.set("by", "flow");
    if (state.span) shown.set("t", state.span.join("-"));
    for (const name of FILTERS) if (state.filters[name]) shown.set(name, state.filters[name]);
    if (state.sort) shown.set("sort", state.sort);
    if (state.page) shown.set("page", state.page + 1);
    explorer.chooseMeasures(list).forEach((key, i) => state.axes[i] !== key && shown.set("xy"[i], state.axes[i]));
    if (state.box) shown.set("box", state.box.flat().map(value => Number(value.toPrecision(4))).join("~"));
    const hash = `#${shown}`;
    if (hash === (location.hash || "#")) return;
    history[isStep ? "pushState" : "replaceState"](null, "", hash === "#" ? location.pathname + location.search : hash);
  };

  const restore = () => {
    state = readUrl();
    for (const name of RANGES) {
      if (!byId(name).hidden && ["min", "max"].some(end => state.filters[`${name}_${end}`])) state.filters[name] = explorer.RANGE;
    }
    offerAbsent();
    for (const name of FILTERS) byId(name).value = state.filters[name];
    // An input takes no text in place of a number.
    for (const name of FILTERS) state.filters[name] = byId(name).value;
    showRanges();
    for (const input of document.getElementsByName("x-by")) input.checked = input.value === state.by;
    ["x", "y"].forEach((name, i) => (byId(name).value = state.axes[i]));
    say(state.unknown.length ? `Not in this archive: ${state.unknown.join(", ")}` : "");
    update();
    reveal();
    // The plots take room from the list.
    paint().then(scrollToPicked);
  };

  // What a link filters by and no run has is a choice, too: it leaves no run, and the list says why.
  const offerAbsent = () => {
    for (const option of document.querySelectorAll(`#x-filters option.${ABSENT}`)) option.remove();
    for (const name of SELECTS) {
      const value = state.filters[name];
      if (!value || [...byId(name).options].some(option => option.value === value)) continue;
      if (byId(name).hidden) {
        // Many values are a range.
        for (const end of ["min", "max"]) state.filters[`${name}_${end}`] = value;
        state.filters[name] = explorer.RANGE;
      } else byId(name).append(make("option", { value, class: ABSENT }, `${value} (no run)`));
    }
  };

  const describeNone = () => {
    const absent = SELECTS.filter(name => byId(name).selectedOptions[0].className === ABSENT);
    if (absent.length > 0) return [absent.map(name => `No run has ${name} = ${byId(name).value}.`).join(" ")];
    if (!state.box || kept.length === 0) return ["No run matches these filters."];
    const remove = make("button", { type: "button" }, "Remove the box");
    remove.addEventListener("click", () => {
      narrow(null);
      drawPoints();
    });
    return ["No run is within the box that is drawn over the plot. ", remove];
  };

  // A link to a run shows it in the list, on whichever page it is; a link to a page stays there.
  const reveal = () => {
    const place = rows.indexOf(state.picked[0]);
    if (place < 0 || new URLSearchParams(location.hash.slice(1)).has("page")) return;
    state.page = table.pageOf(place);
    showPage();
    scrollToPicked();
  };

  const scrollToPicked = () => {
    const place = rows.indexOf(state.picked[0]);
    if (place < 0 || table.pageOf(place) !== state.page) return;
    byId("scroll").scrollTop = table.offsetOf(place) - byId("scroll").clientHeight / 2;
  };

  // The table.
  const update = () => {
    kept = explorer.filterRows(list, state.filters, state.sort);
    showPoints();
    showBox();
  };

  const showBox = () => {
    rows = state.box ? kept.filter(row => explorer.isInBox(list, state.axes, state.box, row)) : kept;
    showPage();
  };

  const narrow = box => {
    state.box = box;
    state.page = 0;
    showBox();
    writeUrl(false);
  };

  const showPage = () => {
    const pages = table.pages(rows);
    state.page = Math.min(state.page, pages - 1);
    table.show(rows, state.sort, state.page, state.picked);
    const show = count => count.toLocaleString("en");
    byId("count").textContent = `${show(rows.length)} of ${show(list.count)} runs`;
    byId("rate").textContent = explorer.summariseRate(list, rows);
    showRest();
    byId("page").textContent = `Page ${show(state.page + 1)} of ${show(pages)}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page === pages - 1;
    byId("none").hidden = rows.length > 0;
    byId("none").replaceChildren(...describeNone());
    const set = FILTERS.filter(name => state.filters[name]).length + (state.box ? 1 : 0);
    byId("reset").disabled = set === 0;
    byId("set").textContent = set ? `(${set} set)` : "";
  };

  // That the list goes on below its frame.
  const showRest = () => {
    const { scrollHeight, clientHeight } = byId("scroll");
    const count = table.shown.length;
    byId("rest").hidden = scrollHeight <= clientHeight + 1;
    byId("rest").textContent = `${count} runs on this page: scroll the list for the rest of them.`;
  };

  // From … to is shown where a select asks for it, or is none; values that are not shown do not filter.
  const showRanges = () => {
    for (const name of RANGES) {
      const isShown = byId(name).hidden || byId(name).value === explorer.RANGE;
      byId(`${name}_range`).hidden = !isShown;
      if (!isShown) for (const end of ["min", "max"]) byId(`${name}_${end}`).value = "";
    }
  };

  const filter = () => {
    showRanges();
    for (const name of FILTERS) state.filters[name] = SELECTS.includes(name) ? byId(name).value : byId(name).value.trim();
    state.page = 0;
    update();
    drawPoints();
    byId("scroll").scrollTop = 0;
    writeUrl(false);
  };

  const sort = key => {
    // Measures are asked for from the largest down, names from A on.
    const first = list.columns.get(key).isText ? key : `-${key}`;
    const second = first === key ? `-${key}` : key;
    state.sort = state.sort === first ? second : state.sort === second ? "" : first;
    state.page = 0;
    update();
    writeUrl(false);
  };

  const turn = step => {
    const page = Math.max(0, Math.min(table.pages(rows) - 1, state.page + step));
    if (page === state.page) return;
    const isInside = byId("table").contains(document.activeElement);
    state.page = page;
    showPage();
    byId("scroll").scrollTop = 0;
    if (isInside) table.focus(0);
    writeUrl(false);
  };

  // Picking.
  const pick = row => {
    // The page is long enough to scroll that far once the charts are drawn.
    setPicked([row]).then(showView);
    showView();
  };
  const toggle = row => {
    if (state.picked.includes(row)) setPicked(state.picked.filter(other => other !== row));
    else if (state.picked.length < MOST_RUNS) setPicked([...state.picked, row]);
    else {
      table.mark(state.picked);
      say(`At most ${MOST_RUNS} runs are shown at once.`);
    }
  };
  const setPicked = picked => {
    say("");
    state.picked = picked;
    if (picked.length === 0) state.span = null;
    table.mark(picked);
    showPoints();
    writeUrl(true);
    return draw();
  };

  // The scatter plot.
  const drawPoints = async () => {
    const current = ++scattering;
    const room = byId("points");
    scatterWidth = room.clientWidth;
    if (!byId("scatter").open || scatterWidth === 0 || explorer.listMeasures(list).length === 0) return;
    try {
      await loadScript("vega.js");
    } catch (error) {
      return say(`Could not be loaded: explorer/${error.message}`);
    }
    if (current !== scattering) return;
    const { axes, box } = state;
    const look = { width: explorer.plotWidth(room), isDark: hasLightInk() };
    const chart = explorer.describeScatter(list, { axes, box, rows: kept, ...look });
    room.setAttribute("aria-label", `Runs by ${chart.label.join(" and ")}`);
    scatter = await explorer.drawScatter(room, chart, { narrow, pick });
    showPoints();
  };

  const showPoints = () => {
    if (!scatter) return;
    scatter.data("points", explorer.placePoints(list, state.axes, kept));
    scatter.data("picked", explorer.placePoints(list, state.axes, state.picked)).runAsync();
    const count = scatter.data("points").length;
    byId("points").dataset.points = count;
    byId("points_none").hidden = count > 0;
  };

  const makePoint = ({ light, dark, marker }) => {
    const point = make("span", { class: `x-point x-${marker}`, "aria-hidden": "true" });
    point.style.setProperty("--light", light);
    point.style.setProperty("--dark", dark);
    return point;
  };

  // Charts.
  const draw = async () => {
    const current = ++drawing;
    const ids = state.picked.map(list.id);
    drawnWidth = byId("view").clientWidth;
    showPicked();
    byId("chart").ariaBusy = String(ids.length > 0);
    if (ids.length === 0) return byId("chart").replaceChildren();
    try {
      await Promise.all([loadScript("vega.js"), ...state.picked.map(row => loadScript(`runs/${list.script(row)}.js`))]);
    } catch (error) {
      byId("chart").ariaBusy = "false";
      return say(`Could not be loaded: explorer/${error.message}`);
    }
    // Where nothing has a width yet, as in a tab that is not shown, the observer draws when it has.
    drawnWidth = byId("view").clientWidth;
    if (current !== drawing || drawnWidth === 0) return;
    const runs = ids.map(id => loaded.get(id) ?? { bin_s: 0.5, flows: [] });
    const isDark = hasLightInk();
    const rates = state.picked.map(row => list.columns.get("line_rate_bps").value(row)).filter(rate => rate !== null);
    const lineRates = [...new Set(rates)].sort((a, b) => a - b);
    const view = { by: state.by, span: state.span, width: explorer.plotWidth(byId("chart")), isDark, lineRates };
    const chart = explorer.describeChart(list, runs, view);
    for (const name of ["from", "until"]) byId(name).max = chart.end;
    // What is typed in the meantime stays.
    if (chart.span !== state.span) {
      state.span = chart.span;
      showSpan();
    }
    byId("chart").setAttribute("aria-label", describe(chart));
    byId("chart").dataset.lines = chart.shown.map(({ key, lines }) => `${key}:${lines}`).join(" ");
    const missing = runs.every(run => run.flows_count) ? "" : describeMissing(chart);
    const isReported = runs.some(run => run.flows.length > 0 && !run.is_acknowledged);
    byId("rate_note").hidden = !isReported || !chart.shown.some(({ key }) => key === "rate");
    drawnRuns = runs;
    byId("legend").replaceChildren(...makeLegend(runs));
    showFlows(runs);
    byId("missing").textContent = [...runs.map(describeLargeRun), missing].filter(Boolean).join(" ");
    byId("chart").ariaBusy = "false";
    if (chart.shown.length === 0) return byId("chart").replaceChildren();
    await explorer.drawChart(byId("chart"), chart, span => {
      state.span = span;
      showSpan();
      writeUrl(false);
    });
    if (current === drawing) byId("chart").dataset.drawn = ids.join(" ");
  };

  const listFlowColumns = () => [
    { label: "Flow", isText: true },
    { label: "Algorithm", isText: true },
    // As explorer/run_series.py lists the totals.
    { label: "Throughput", unit: list.rate.unit },
    { label: "Goodput", unit: list.rate.unit },
    { label: "Retransmits", unit: "segments", decimals: 0 },
    { label: "Retransmit ratio", unit: "%" },
    { label: "RTT", unit: "ms, mean" },
    { label: "Window", unit: "segments, mean" },
  ];
  // As precise as the series are, which have Mbit/s.
  const scaleRate = rate => (rate === null ? null : Number((rate / list.rate.divisor).toPrecision(4)));
  const showFlows = runs => {
    const flows = runs.flatMap((run, i) => run.flows.map(flow => [explorer.runLetters[i], flow]));
    const nameOf = cc => list.algorithms.get(cc)?.name ?? cc;
    const isMany = runs.length > 1;
    byId("flows_list").hidden = flows.length === 0;
    byId("flows_count").textContent = `Flows (${flows.length.toLocaleString("en")})`;
    const columns = [...(isMany ? [{ label: "Run", isText: true }] : []), ...listFlowColumns()];
    const shown = flows.map(([run, { name, cc, totals }]) => {
      const [throughput, goodput, ...others] = totals;
      return [...(isMany ? [run] : []), name, nameOf(cc), scaleRate(throughput), scaleRate(goodput), ...others];
    });
    explorer.fillTable(byId("flows_table"), columns, shown);
    byId("flows_save").onclick = () => explorer.saveCsv("flows", columns.map(explorer.nameColumn), shown);
  };

  // A run of so many flows that the export left them out.
  const describeLargeRun = ({ flows_count: count }, i) =>
    count ? `Run ${explorer.runLetters[i]} has ${count.toLocaleString("en")} flows, too many to be drawn here.` : "";
  const describeMissing = chart => {
    const missing = chart.missing.join(", ").toLowerCase().replace("rtt", "RTT");
    return missing ? `Not recorded: ${missing}.` : "";
  };

  const describe = ({ shown }) =>
    `${shown.map(({ title, unit }) => `${title} (${unit})`).join(", ")} over time, per ${state.by}, of ${state.picked
      .map((row, i) => `${explorer.runLetters[i]}: ${explorer.nameRun(list, row)}`)
      .join("; ")}`;

  const paint = () => {
    document.getElementById("explorer").classList.toggle("x-dark", hasLightInk());
    return Promise.all([drawPoints(), draw()]);
  };

  const hasLightInk = () => {
    const [red, green, blue] = getComputedStyle(document.getElementById("explorer")).color.match(/[\d.]+/g).map(Number);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 128;
  };

  const showPicked = () => {
    const isEmpty = state.picked.length === 0;
    byId("hint").hidden = !isEmpty;
    byId("tools").hidden = isEmpty;
    for (const name of ["see", "link", "clear", "back"]) byId(name).hidden = isEmpty;
    if (isEmpty) byId("flows_list").hidden = true;
    if (isEmpty) byId("rate_note").hidden = true;
    if (isEmpty) byId("chart").setAttribute("aria-label", "No run picked");
    byId("see").textContent = `See ${state.picked.length} picked`;
    byId("missing").textContent = "";
    drawnRuns = [];
    showCards();
    showSpan();
  };

  const showCards = () => {
    byId("picked").replaceChildren(...state.picked.map(makeCard));
    byId("legend").replaceChildren(...makeLegend(drawnRuns));
  };

  const makeCard = (row, i) => {
    const show = key => list.columns.get(key).show(row);
    const rules = list.columns.get("suspect_rules").value(row);
    const label = `Remove run ${explorer.runLetters[i]}`;
    const remove = make("button", { type: "button", class: "x-remove", "aria-label": label }, "×");
    remove.addEventListener("click", () => setPicked(state.picked.filter(other => other !== row)));
    const measured = [`${show("rate_bps")} ${list.rate.unit}`, `${show("retransmits_count")} retransmits (${show("retransmit_ratio")} %)`];
    const facts = [
      ...(explorer.nameRpc(list, row) ? [] : measured),
      ...[explorer.describeState(list, row)].filter(Boolean),
      ...["job", "host"].map(show),
    ].join(" · ");
    const links = [
      list.files(row) ? make("a", { href: list.files(row) }, "raw files") : null,
      rules ? make("a", { href: "ledger.html#suspects" }, "what makes a run suspect") : null,
    ];
    const isMany = state.picked.length > 1;
    const strengths = explorer.listStrengths(state.picked.length);
    return make(
      "li",
      {},
      isMany ? make("b", {}, explorer.runLetters[i]) : null,
      strengths ? makeSample(strengths[i].dash, { ...colourOf(row), ...strengths[i] }) : null,
      make("span", { class: "x-name", title: list.id(row) }, explorer.nameRun(list, row), make("small", { title: facts }, facts)),
      make("span", { class: "x-links" }, ...links),
      remove,
    );
  };

  // That of all of a run's lines, none of lines of several colours.
  const colourOf = row => {
    const ccs = explorer.listAlgorithms(list, row);
    const { light, dark } = (ccs.length === 1 && list.algorithms.get(ccs[0])) || {};
    return { light, dark };
  };

  const makeSample = (dash, { light, dark, width = 2.5, opacity = 1 }) => {
    const [svg, line] = ["svg", "line"].map(tag => document.createElementNS("http://www.w3.org/2000/svg", tag));
    const set = (element, attributes) =>
      Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    set(svg, { width: 28, height: 8, "aria-hidden": "true", class: "x-sample" });
    const strength = { "stroke-width": width, "stroke-opacity": opacity };
    set(line, { x1: 0, x2: 28, y1: 4, y2: 4, "stroke-dasharray": dash.join(" "), ...strength });
    if (light) svg.style.setProperty("--light", light);
    if (dark) svg.style.setProperty("--dark", dark);
    svg.append(line);
    return svg;
  };

  // Of each run the rate of all of its flows, or of those of one algorithm.
  const sumRates = (runs, cc = null) => {
    const sums = runs.map(({ flows }) => {
      // As the list of flows says: goodput, where it is known.
      const rates = flows.filter(flow => cc === null || flow.cc === cc).map(({ totals }) => totals[1] ?? totals[0]);
      return rates.reduce((sum, rate) => sum + (rate ?? 0), 0);
    });
    const column = list.columns.get("rate_bps");
    const show = (sum, i) => {
      const [rate, whole] = [sum / list.rate.divisor, column.value(state.picked[i])];
      // A sum that is the run's rate but for the rounding of its parts is shown as that.
      const isWhole = whole !== null && Math.abs(rate - whole) < ROUNDING * whole;
      const shown = isWhole ? column.show(state.picked[i]) : explorer.showNumber(rate);
      return `${runs.length > 1 ? `${explorer.runLetters[i]} ` : ""}${shown}`;
    };
    const shown = sums.map((sum, i) => (sum ? show(sum, i) : ""));
    return shown.some(Boolean) ? `: ${shown.filter(Boolean).join(", ")} ${list.rate.unit}` : "";
  };

  const makeLegend = runs => {
    // Where dashes are those of runs an algorithm has its colour alone.
    const isPlain = explorer.listStrengths(state.picked.length) !== null;
    const seen = new Set(state.picked.flatMap(row => explorer.listAlgorithms(list, row)));
    const items = [...list.algorithms.values()]
      .filter(({ cc }) => seen.has(cc))
      .map(algorithm => {
        const name = `${algorithm.name}${sumRates(runs, algorithm.cc)}`;
        return make("li", {}, makeSample(isPlain ? [1, 0] : algorithm.dash, algorithm), name);
      });
    const sum = items.length > 1 ? sumRates(runs) : "";
    return sum ? [...items, make("li", {}, `all flows${sum}`)] : items;
  };

  // An end that is the run's is left empty, for a reader to type another.
  const showSpan = () => {
    const end = Number(byId("until").max) || Infinity;
    const [from, until] = state.span ?? [0, end];
    byId("from").value = from > 0 ? from : "";
    byId("until").value = until < end ? until : "";
    byId("whole").disabled = state.span === null;
  };

  const zoom = () => {
    const end = Number(byId("until").max);
    const times = [Number(byId("from").value || 0), Number(byId("until").value || end)];
    // Until 3 from 5 is from 3 to 5.
    const [from, until] = byId("until").value ? times.sort((a, b) => a - b) : times;
    state.span = from < until && (from > 0 || until < end) ? [from, until] : null;
    showSpan();
    writeUrl(false);
    draw();
  };

  const say = text => {
    byId("message").textContent = text;
  };

  const copyLink = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("Link copied.");
    } catch {
      say("Copy the link from the address bar.");
    }
  };

  const listen = () => {
    byId("filters").addEventListener("input", filter);
    byId("filters").addEventListener("submit", event => event.preventDefault());
    byId("reset").addEventListener("click", () => {
      for (const name of FILTERS) byId(name).value = "";
      state.box = null;
      filter();
    });
    byId("scatter").addEventListener("toggle", drawPoints);
    ["x", "y"].forEach((name, i) =>
      byId(name).addEventListener("change", () => {
        state.axes[i] = byId(name).value;
        narrow(null);
        drawPoints();
      }),
    );
    byId("previous").addEventListener("click", () => turn(-1));
    byId("next").addEventListener("click", () => turn(1));
    byId("clear").addEventListener("click", () => setPicked([]));
    byId("link").addEventListener("click", copyLink);
    byId("save").addEventListener("click", () => explorer.saveRuns(list, rows));
    byId("see").addEventListener("click", () => byId("view").scrollIntoView());
    byId("back").addEventListener("click", () => byId("runs").scrollIntoView());
    byId("suspects").disabled = !explorer.listChoices(list, "state").some(([state]) => state === SUSPECT);
    byId("suspects").addEventListener("click", () => {
      byId("state").value = SUSPECT;
      filter();
    });
    for (const name of ["from", "until"]) byId(name).addEventListener("change", zoom);
    byId("whole").addEventListener("click", () => {
      [byId("from").value, byId("until").value] = ["", ""];
      zoom();
    });
    for (const input of document.getElementsByName("x-by")) {
      input.addEventListener("change", () => {
        state.by = input.value;
        writeUrl(false);
        draw();
      });
    }
    addEventListener("hashchange", restore);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    const themes = { attributes: true, attributeFilter: ["data-theme", "class"] };
    new MutationObserver(paint).observe(document.documentElement, themes);
    const redraw = new ResizeObserver(() => {
      const [width, room] = [byId("view").clientWidth, byId("points").clientWidth];
      if (width > 0 && width !== drawnWidth) draw();
      if (room > 0 && room !== scatterWidth) drawPoints();
      showRest();
    });
    for (const name of ["view", "points", "scroll"]) redraw.observe(byId(name));
  };
})();
