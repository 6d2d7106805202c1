// The list of all runs: decoded once, then filtered and sorted by row numbers.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});
  // Sorted by how far they are from 0: of two runs that are as odd one is above and one below the others.
  const SIZED = new Set(["deviation_z"]);
  // What was set, not measured: shown as it was written.
  const NOMINAL = new Set(["rtt_ms", "loss_pct", "bottleneck_bps", "buffer_bytes"]);
  // Of what was measured, whichever runs are listed, but not of counts.
  const DIGITS = 4;
  // A run is an outlier from here on (explorer/run_list.py).
  explorer.OUTLIER_Z = 3.5;

  // `packed` is what explorer/run_list.py describes.
  explorer.unpackList = packed => {
    const textOf = part => row => (part.index[row] < 0 ? null : part.texts[part.index[row]]);
    const [head, middle] = [textOf(packed.heads), textOf(packed.middles)];
    const columns = new Map(packed.columns.map(column => [column.key, prepareColumn(column, textOf)]));
    columns.set("state", prepareColumn({ key: "state", label: "State", unit: "", ...packed.states }, textOf));
    // Modes are algorithms or "both".
    const algorithms = new Map(packed.algorithms.map(algorithm => [algorithm.cc, algorithm]));
    const session = columns.get("session");
    if (session) session.shorten = row => shortenSession(session.show(row));
    const list = {
      count: packed.count,
      columns,
      algorithms,
      paper: packed.paper,
      rate: packed.rate,
      rules: packed.rules,
      exhibits: packed.exhibits,
      files: textOf(packed.files),
      id: row => head(row) + middle(row) + packed.tails[row],
      script: row => (Object.hasOwn(packed.scripts, row) ? packed.scripts[row] : list.id(row)),
    };
    columns.get("cc_list").show = row => nameAlgorithms(list, row, " + ") || "–";
    const all = Array.from({ length: list.count }, (_, row) => row);
    list.rows = new Map(all.map(row => [list.id(row), row]));
    list.sort = memoize(sort => sortRows(all, columns.get(sort.replace(/^-/, "")), sort.startsWith("-")));
    list.haystack = memoize(row =>
      [
        list.id(row),
        ...["session", "job", "host", "sender_host", "cc_list", "loss_pattern", "suspect_rules", "uncounted_reason"].map(key => columns.get(key).show(row)),
        ...explorer.listAlgorithms(list, row).map(cc => list.algorithms.get(cc).name),
      ]
        .join("\n")
        .toLowerCase(),
    );
    return list;
  };

  // "2026-11-25:17:56" is "11-25 17:56": the year is the same in a list, and is on the cards.
  const shortenSession = session => session.replace(/^\d{4}-(\d\d-\d\d)[:T_ -](\d\d:\d\d).*$/, "$1 $2");

  // "BBR alone", unlike runs with any flow of BBR.
  const nameMode = (algorithms, mode) => (algorithms.has(mode) ? `${algorithms.get(mode).name} alone` : mode);

  const memoize = compute => {
    const known = new Map();
    return key => {
      if (!known.has(key)) known.set(key, compute(key));
      return known.get(key);
    };
  };

  const prepareColumn = (column, textOf) => {
    const isText = "texts" in column;
    const value = isText ? textOf(column) : row => column.values[row];
    const isWhole = number => number === null || Number.isInteger(number);
    const isExact = isText || column.decimals !== null || NOMINAL.has(column.key) || column.values.every(isWhole);
    const showNumber = number =>
      isExact ? explorer.showNumber(number, column.decimals) : explorer.showDigits(number, DIGITS);
    const show = row => (value(row) === null ? "–" : isText ? value(row) : showNumber(value(row)));
    const rank = isText ? column.index : SIZED.has(column.key) ? column.values.map(number => number && Math.abs(number)) : column.values;
    return { ...column, isText, value, show, rank };
  };

  // Texts of numbers with blanks as wide as digits behind them, so that their points are below each other.
  explorer.alignPoints = texts => {
    const places = texts.map(text => (/^−?[\d,]+\.\d+$/.test(text) ? text.length - text.indexOf(".") : 0));
    const most = Math.max(0, ...places);
    return texts.map((text, i) => {
      if (text === "–" || places[i] === most) return text;
      return places[i] > 0 ? text + "\u2007".repeat(most - places[i]) : `${text}\u2008${"\u2007".repeat(most - 1)}`;
    });
  };

  // So many significant digits, also where the last ones are 0.
  explorer.showDigits = (value, digits) =>
    explorer.showNumber(value, value === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));

  // 4 significant digits at most where no number of decimals is given, 0 as that, with commas between thousands, as the
  // charts have them.
  explorer.showNumber = (value, decimals = null) => {
    const text = decimals === null || value === 0 ? String(Number(value.toPrecision(4))) : value.toFixed(decimals);
    // Without the sign of a negative number that rounds to zero.
    const grouped = text.replace(/^-(?=[0.]+$)/, "").replace(/^(-?\d{4,})/, whole => whole.replace(/\B(?=(\d{3})+$)/g, ","));
    return grouped.replace(/^-/, "−");
  };

  // "bursts", nothing of the usual pattern, which is random, and of paths without loss.
  explorer.namePattern = (list, row) => {
    const pattern = list.columns.get("loss_pattern").value(row);
    return [null, "none", "random"].includes(pattern) ? "" : pattern;
  };

  // Unknown values come last in either direction; equal ones keep the order of the archive.
  const sortRows = (all, column, isDescending) => {
    if (!column) return all;
    const isUnknown = column.isText ? row => column.rank[row] < 0 : row => column.rank[row] === null;
    const known = all.filter(row => !isUnknown(row));
    const sign = isDescending ? -1 : 1;
    known.sort((a, b) => sign * (column.rank[a] - column.rank[b]) || a - b);
    return known.concat(all.filter(isUnknown));
  };

  const RANGES = { rtt: "rtt_ms", loss: "loss_pct" };
  // Their choices have the unit.
  const PATH = { bottleneck: "bottleneck_bps", buffer: "buffer_bytes" };
  const EXACT = { session: "session", job: "job", host: "host", mode: "mode", flows: "flows_count", state: "state", ...RANGES, ...PATH };
  // A value as a select offers it: "0.01", and of loss that is not at random "0.01 in bursts", which acts unlike it.
  const nameChoiceOf = (list, name, value, row) =>
    [String(value), name === "loss" && explorer.namePattern(list, row)].filter(Boolean).join(" in ");

  // What a select of values offers besides them: from … to.
  explorer.RANGE = "range";
  // More values than these are no choice: from … to alone.
  const CHOICES_AT_MOST = 16;
  explorer.hasChoices = (list, name) => {
    const { length } = explorer.listChoices(list, name);
    return length > 0 && length <= CHOICES_AT_MOST;
  };

  // Filters by name: exact values as text, `cc` one of a run's algorithms, `exhibit` what it is used in, ranges `<name>_min` and `<name>_max`.
  explorer.filterRows = (list, filters, sort) => {
    const tests = [];
    for (const [name, key] of Object.entries(EXACT)) {
      if (!filters[name] || filters[name] === explorer.RANGE) continue;
      const column = list.columns.get(key);
      tests.push(row => nameChoiceOf(list, name, column.value(row), row) === filters[name]);
    }
    for (const [name, key] of Object.entries(RANGES)) {
      const [low, high] = [filters[`${name}_min`], filters[`${name}_max`]].map(text => (text ? Number(text) : NaN));
      const { values } = list.columns.get(key);
      if (!Number.isNaN(low)) tests.push(row => values[row] !== null && values[row] >= low);
      if (!Number.isNaN(high)) tests.push(row => values[row] !== null && values[row] <= high);
    }
    if (filters.cc) tests.push(row => explorer.listAlgorithms(list, row).includes(filters.cc));
    if (filters.exhibit) tests.push(row => listExhibits(list, row).some(name => [name, ANY].includes(filters.exhibit)));
    for (const word of (filters.find ?? "").toLowerCase().split(/\s+/).filter(Boolean)) {
      tests.push(row => list.haystack(row).includes(word));
    }
    return list.sort(sort).filter(row => tests.every(test => test(row)));
  };

  // "RPC test (netperf)", of a run that has no bulk rate (explorer/run_list.py), else null.
  explorer.nameRpc = (list, row) => /^RPC test \([^)]*\)/.exec(list.columns.get("uncounted_reason").value(row) ?? "")?.[0] ?? null;

  const nameAlgorithms = (list, row, between) =>
    explorer.listAlgorithms(list, row)
      .map(cc => list.algorithms.get(cc).name)
      .join(between);

  // What a run was: "CUBIC and BBRv2, 16 flows, RTT 80 ms, loss 0.1 %, iteration 2, session 2026-11-25:17:56", without
  // what is not known.
  explorer.nameRun = (list, row) => {
    const show = (key, before, after) => {
      const column = list.columns.get(key);
      return column.value(row) === null ? "" : `${before}${column.show(row)}${after}`;
    };
    const session = list.columns.get("session")?.value(row);
    const parts = [
      nameAlgorithms(list, row, " and "),
      explorer.nameRpc(list, row) ?? show("flows_count", "", list.columns.get("flows_count").value(row) === 1 ? " flow" : " flows"),
      show("rtt_ms", "RTT ", " ms"),
      [show("loss_pct", "loss ", " %"), explorer.namePattern(list, row)].filter(Boolean).join(" in "),
      show("iteration", "iteration ", ""),
      session && `session ${session}`,
    ];
    return parts.filter(Boolean).join(", ");
  };

  const nameRules = (list, names) =>
    names
      .split(", ")
      .map(name => list.rules[name] ?? name)
      .join("; ");

  // What runs of one condition have in common.
  const CONDITION = ["job", "host", "sender_host", "cc_list", "flows_count", "rtt_ms", "loss_pct", "loss_pattern"];

  // "rate: mean 9.43, median 9.58 Gbit/s", of the rows that have one; nothing of several conditions, whose mean says nothing.
  explorer.summariseRate = (list, rows) => {
    const column = list.columns.get("rate_bps");
    const isOne = key => new Set(rows.map(row => list.columns.get(key)?.value(row))).size < 2;
    if (!CONDITION.every(isOne)) return "";
    const rates = rows.map(row => column.value(row)).filter(rate => rate !== null).sort((a, b) => a - b);
    if (rates.length === 0) return "";
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
    const median = (rates[Math.floor((rates.length - 1) / 2)] + rates[Math.floor(rates.length / 2)]) / 2;
    const show = rate => explorer.showDigits(rate, 3);
    const of = rates.length === rows.length ? "" : ` (of ${rates.length.toLocaleString("en")} with a rate)`;
    return `Rate: mean ${show(mean)}, median ${show(median)} ${list.rate.unit}${of}`;
  };

  explorer.nameColumn = ({ label, unit }) => (unit ? `${label} (${unit})` : label);

  // What makes a run an exception, nothing of one that counts.
  explorer.describeState = (list, row) => {
    const [state, rules, reason] = ["state", "suspect_rules", "uncounted_reason"].map(key => list.columns.get(key).value(row));
    if (explorer.nameRpc(list, row)) return reason;
    return state === "counted" ? "" : rules ? `suspect: ${nameRules(list, rules)}` : reason && reason !== state ? `${state}: ${reason}` : state;
  };

  explorer.isOutlier = (list, row) => Math.abs(list.columns.get("deviation_z").value(row) ?? 0) > explorer.OUTLIER_Z;

  // Of the filter by exhibits: whichever of the publication.
  const ANY = "published";
  const listExhibits = (list, row) => (list.columns.get("exhibits").value(row) ?? "").split(", ").filter(Boolean);

  explorer.listAlgorithms = (list, row) => (list.columns.get("cc_list").value(row) ?? "").split(",").filter(Boolean);

  // What a select offers: each distinct value of a column.
  explorer.listChoices = (list, name) => {
    if (name === "cc") return [...list.algorithms.values()].map(({ cc, name: label }) => [cc, label]);
    const { exhibits } = list;
    if (name === "exhibit") return exhibits.length ? [[ANY, "the paper"], ...exhibits.map(exhibit => [exhibit, exhibit])] : [];
    const column = list.columns.get(EXACT[name]);
    if (name === "mode") return column.texts.map(mode => [mode, nameMode(list.algorithms, mode)]);
    if (column.isText) return column.texts.map(text => [text, text]);
    const order = new Map(column.values.map((number, row) => [nameChoiceOf(list, name, number, row), number]));
    const known = [...order].filter(([, number]) => number !== null);
    known.sort(([one, a], [other, b]) => a - b || one.length - other.length);
    return known.map(([choice]) => [choice, name in PATH ? `${choice} ${column.unit}` : choice]);
  };
})();
