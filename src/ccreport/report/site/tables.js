// Long tables of a page: what filters their rows, by words and exactly by the verdict, and headings that sort them. Without
// script a table is as it is.
"use strict";
(() => {
  const ROWS_AT_LEAST = 21;
  // 47.36 · 13,000 · −3 · 62.5 kB · 1.81×10⁻⁷ · < 0.0001 · > 500 · <a number that an interval begins with>
  const NUMBER = /^(?:([<>≤≥≈]) )?([-−+]?[\d,]*\.?\d+)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?\s?([kMG]i?)?/;
  // Of two with the same number, "< 0.1" is before 0.1 and "> 500" after 500.
  const SIDES = { "<": -1, ">": 1 };
  const FACTORS = { k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

  const read = text => {
    const found = NUMBER.exec(text);
    if (!found) return null;
    const [, bound, digits, power = "⁰", prefix] = found;
    const exponent = power.replace(/./g, sign => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(sign) - 1).replace("-1", "-");
    const value = Number(`${digits.replace(/,/g, "").replace("−", "-")}e${exponent}`) * (FACTORS[prefix] ?? 1);
    return { value, side: SIDES[bound] ?? 0 };
  };

  // The heading of each column is the lowest cell above it that spans no other.
  const findHeadings = head => {
    const headings = [];
    const taken = [...head.rows].map(() => []);
    [...head.rows].forEach((row, y) => {
      let x = 0;
      for (const cell of row.cells) {
        while (taken[y][x]) x += 1;
        for (let down = 0; down < cell.rowSpan && y + down < taken.length; down += 1)
          for (let right = 0; right < cell.colSpan; right += 1) taken[y + down][x + right] = true;
        if (cell.colSpan === 1 && y + cell.rowSpan >= taken.length) headings[x] = cell;
        x += cell.colSpan;
      }
    });
    return headings;
  };

  const isBlank = text => text === "–" || text === "";

  const compare = (first, second, isNumber) => {
    const [a, b] = [first, second].map(text => (isBlank(text) ? null : isNumber ? read(text) : text));
    // What has no value is last, in either direction.
    if (a === null || b === null) return { order: (a === null) - (b === null), isFixed: true };
    return { order: isNumber ? a.value - b.value || a.side - b.side : a.localeCompare(b, "en", { numeric: true }), isFixed: false };
  };

  const isAimedAt = table => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.contains(table);

  const setUp = table => {
    const body = table.tBodies[0];
    const all = [...body.rows];
    const width = Math.max(...all.map(row => row.cells.length));
    const isGroup = row => row.cells.length === 1 && width > 1;
    const rows = all.filter(row => !isGroup(row));
    // A link may ask for the rows with some words, or a verdict: tables.html?rows=undecided#table-comparisons.
    const asked = new URLSearchParams(isAimedAt(table) ? location.search : "");
    const isAsked = asked.has("rows") || asked.has("verdict");
    if ((rows.length < ROWS_AT_LEAST && !isAsked) || rows.some(row => row.cells.length !== width)) return;
    const texts = new Map();
    const groups = new Map();
    let group = null;
    for (const row of all) {
      if (isGroup(row)) {
        group = row;
        continue;
      }
      texts.set(row, [...row.cells].map(cell => cell.textContent.trim()));
      groups.set(row, group);
      if (!group) continue;
      // Sorted, rows leave the heading of their group.
      const name = document.createElement("span");
      name.className = "of-group";
      name.textContent = `${group.textContent.trim()} · `;
      row.cells[0].prepend(name);
    }

    // Of a cell with a remark below: "undecided" alone.
    const headings = findHeadings(table.tHead);
    const ofVerdict = headings.findIndex(heading => heading.textContent.trim() === "Verdict");
    const verdicts = new Map(rows.map(row => [row, row.cells[ofVerdict]?.firstChild?.textContent.trim()]));
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", "Verdict");
    choice.append(new Option("Any verdict", ""), ...[...new Set([...verdicts.values()].filter(Boolean))].sort().map(name => new Option(name)));

    const field = document.createElement("input");
    const count = document.createElement("output");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", `Filter rows: ${table.closest("[aria-label]")?.getAttribute("aria-label") ?? ""}`);
    const box = table.closest(".table-scroll");
    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const shown = new Set();
      for (const row of rows) {
        const text = [groups.get(row)?.textContent ?? "", ...texts.get(row)].join(" ").toLowerCase();
        row.hidden = !words.every(word => text.includes(word)) || Boolean(choice.value && verdicts.get(row) !== choice.value);
        if (!row.hidden) shown.add(groups.get(row));
      }
      for (const one of all) if (isGroup(one)) one.hidden = !shown.has(one);
      const shownCount = rows.filter(row => !row.hidden).length;
      const counted = shownCount < rows.length ? `${shownCount} of ${rows.length} rows` : `${rows.length} rows`;
      // Notes below the rows may be out of sight though all rows are in it.
      const height = body.getBoundingClientRect().bottom - table.getBoundingClientRect().top;
      count.textContent = box && height > box.clientHeight + 1 ? `${counted}; scroll` : counted;
    };
    // Whether the box scrolls changes with the window, and when a fold opens.
    if (box) new ResizeObserver(filter).observe(box);
    field.addEventListener("input", filter);
    choice.addEventListener("input", filter);
    const tools = document.createElement("p");
    tools.className = "table-tools";
    tools.append(field, ...(ofVerdict < 0 ? [] : [choice]), count);
    (box ?? table).before(tools);
    field.value = asked.get("rows") ?? "";
    choice.value = asked.get("verdict") ?? "";
    filter();

    const sort = (column, direction) => {
      table.classList.toggle("sorted", direction !== 0);
      headings.forEach((heading, x) => {
        if (x === column && direction) heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        else heading.removeAttribute("aria-sort");
      });
      if (!direction) {
        body.append(...all);
        return;
      }
      const values = rows.map(row => texts.get(row)[column]);
      const isNumber = values.every(text => isBlank(text) || read(text) !== null);
      body.append(
        ...[...rows].sort((a, b) => {
          const { order, isFixed } = compare(texts.get(a)[column], texts.get(b)[column], isNumber);
          return isFixed ? order : order * direction;
        }),
      );
    };
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      // Up, down, and as it was.
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort");
        sort(column, now === "ascending" ? -1 : now === "descending" ? 0 : 1);
      });
    });
  };

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".table-scroll table").forEach(setUp));
})();
