// What is shown as a CSV file: a Blob, as a page from disk has no server to ask for it.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});

  // A spreadsheet would run what begins like a formula; numbers may begin with a minus.
  const quote = value => {
    const text = String(value ?? "");
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };

  explorer.saveCsv = (name, header, rows) => {
    const text = [header, ...rows].map(row => `${row.map(quote).join(",")}\r\n`).join("");
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    explorer.make("a", { href: address, download: `${name}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };

  explorer.saveRuns = (list, rows) => {
    const columns = [...list.columns.values()];
    const header = ["Run", ...columns.map(explorer.nameColumn)];
    explorer.saveCsv("runs", header, rows.map(row => [list.id(row), ...columns.map(column => column.value(row))]));
  };
})();
