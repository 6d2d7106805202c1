// A table whose heads sort it: of the flows of the picked runs, and of what a query gives.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});

  // `columns` are {label, unit, isText, decimals}, `rows` arrays of their values; a null comes last in either direction.
  explorer.fillTable = (table, columns, rows) => {
    const { make } = explorer;
    const show = (value, { decimals }) =>
      value === null ? "–" : typeof value === "number" ? explorer.showNumber(value, decimals) : String(value);
    const body = make("tbody");
    const fill = sorted =>
      body.replaceChildren(
        ...sorted.map(row =>
          make("tr", {}, ...row.map((value, i) => make("td", { class: columns[i].isText ? "x-text" : "x-number" }, show(value, columns[i])))),
        ),
      );
    const order = (i, sign) =>
      [...rows].sort((a, b) => {
        if (a[i] === null || b[i] === null) return (a[i] === null) - (b[i] === null);
        return sign * (a[i] < b[i] ? -1 : a[i] > b[i] ? 1 : 0);
      });
    const heads = columns.map(({ label, unit, isText }, i) => {
      const button = make("button", { type: "button" }, `${label} `, unit ? make("span", { class: "x-unit" }, unit) : null);
      const head = make("th", { scope: "col", class: isText ? null : "x-number" }, button);
      button.addEventListener("click", () => {
        // As in the list of runs: measures from the largest down, names from A on, then the other way round.
        const isDown = head.ariaSort === null ? !isText : head.ariaSort === "ascending";
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        fill(order(i, isDown ? -1 : 1));
      });
      return head;
    });
    table.replaceChildren(make("thead", {}, make("tr", {}, ...heads)), body);
    fill(rows);
  };
})();
