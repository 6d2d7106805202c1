// SQL over the tables of runs and the published ones, in the browser: engine and tables are loaded when they are asked for.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});
  const ROWS_AT_MOST = 500;
  // What people ask first, in SQL that DuckDB takes too.
  const QUESTIONS = [
    {
      label: "How fast is each condition?",
      // Jobs differ in rate and buffer of the bottleneck, too: without them means are of runs that nobody would average.
      query: `SELECT job, mode, flows_count, rtt_ms, loss_pct, COUNT(goodput_bps) AS runs,
  AVG(goodput_bps) / 1e6 AS mean_mbit_s, STDDEV_SAMP(goodput_bps) / 1e6 AS sd_mbit_s
FROM runs WHERE is_counted
GROUP BY job, mode, flows_count, rtt_ms, loss_pct, parameter_value ORDER BY job, rtt_ms, loss_pct, mean_mbit_s`,
    },
    {
      label: "Which runs retransmit most?",
      query: `SELECT job, host, iteration, rtt_ms, loss_pct, retransmits_count, 100 * retransmit_ratio AS retransmit_ratio_pct
FROM runs WHERE retransmit_ratio IS NOT NULL
ORDER BY retransmit_ratio DESC, run_id LIMIT 10`,
    },
    {
      label: "How do algorithms share the rate where they compete?",
      query: `SELECT r.job, r.rtt_ms, f.cc, COUNT(f.goodput_bps) AS flows, AVG(f.goodput_bps) / 1e6 AS mean_mbit_s
FROM flows AS f JOIN runs AS r ON f.run_id = r.run_id
WHERE r.is_counted AND r.cc_list LIKE '%,%'
GROUP BY r.job, r.rtt_ms, f.cc ORDER BY r.job, r.rtt_ms, f.cc`,
    },
    {
      label: "Which flows got least of their run's rate?",
      query: `SELECT f.flow_id, f.cc, f.goodput_bps / 1e6 AS mbit_s,
  f.goodput_bps * r.flows_count / r.goodput_bps AS share_of_fair
FROM flows AS f JOIN runs AS r ON f.run_id = r.run_id
WHERE r.goodput_bps > 0 AND f.goodput_bps IS NOT NULL
ORDER BY share_of_fair, f.flow_id LIMIT 10`,
    },
    {
      label: "Which claims of the publication are contradicted or differ in size, and by which check?",
      query: `SELECT claim, "check", paper_value, value AS value_here, low, high, runs_count
FROM claims WHERE verdict = 'does not hold'
ORDER BY claim_number, check_number`,
    },
  ];
  const tables = new Map();
  explorer.questions = QUESTIONS;

  explorer.loadTable = (name, text) => {
    const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
    tables.set(name, window.ccreportSql.parquetReadObjects({ file: bytes.buffer }).then(rows => rows.map(simplify)));
  };

  // Whole numbers of 64 bits come as BigInt, which arithmetic does not mix with others; those of tables are below 2^53.
  const plain = value => (typeof value === "bigint" ? Number(value) : value instanceof Date ? value.toISOString() : (value ?? null));
  const simplify = row => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));

  // Return {columns, rows} of a query over these tables, {name: columns}; `load` loads a script of the explorer.
  explorer.ask = async (query, known, load) => {
    await load("sql.js");
    const named = Object.keys(known).filter(name => new RegExp(`\\b${name}\\b`, "i").test(query));
    await Promise.all(named.map(name => load(`tables/${name}.js`)));
    const rows = await Promise.all(named.map(name => tables.get(name)));
    const given = Object.fromEntries(named.map((name, i) => [name, rows[i]]));
    const { collect, executeSql } = window.ccreportSql;
    const result = await collect(executeSql({ tables: given, query }));
    const columns = result.length ? Object.keys(result[0]) : [];
    return { columns, rows: result.map(row => columns.map(name => plain(row[name]))) };
  };

  // The engine is given the tables that a query names: of a misspelt one it would list none.
  explorer.explainError = (message, known) =>
    message.replace(/Available tables:.*$/s, `Available tables: ${Object.keys(known).join(", ")}.`);

  // Set up the form of the page.
  explorer.offerSql = (known, byId, load) => {
    const hasSql = Object.keys(known).length > 0;
    byId("sql").hidden = !hasSql;
    if (!hasSql) return;
    byId("sql_tables").textContent = `Tables: ${Object.keys(known).join(", ")}.`;
    byId("question").append(...QUESTIONS.map(({ label }, i) => explorer.make("option", { value: i }, label)));
    const choose = () => (byId("query").value = QUESTIONS[byId("question").value].query);
    byId("question").addEventListener("change", choose);
    choose();
    byId("sql_form").addEventListener("submit", async event => {
      event.preventDefault();
      byId("sql_said").textContent = "…";
      byId("sql_rows").hidden = byId("sql_save").hidden = true;
      try {
        const { columns, rows } = await explorer.ask(byId("query").value, known, load);
        const isText = i => rows.every(row => typeof row[i] !== "number");
        const heads = columns.map((label, i) => ({ label, isText: isText(i) }));
        explorer.fillTable(byId("sql_table"), heads, rows.slice(0, ROWS_AT_MOST));
        byId("sql_rows").hidden = byId("sql_save").hidden = rows.length === 0;
        byId("sql_save").onclick = () => explorer.saveCsv("query", columns, rows);
        const count = `${rows.length.toLocaleString("en")} row${rows.length === 1 ? "" : "s"}`;
        byId("sql_said").textContent = rows.length > ROWS_AT_MOST ? `${count}, of which the first ${ROWS_AT_MOST} are shown` : count;
      } catch (error) {
        byId("sql_said").textContent = explorer.explainError(error.message, known);
      }
    });
  };
})();
