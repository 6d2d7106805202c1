// The table of runs: one page of rows at a time, a grid for the keyboard.
"use strict";
(() => {
  const explorer = (window.ccreportExplorer = window.ccreportExplorer || {});
  const PAGE_ROWS = 50;
  // What makes a run an exception is below the name of its job, and that its loss comes in bursts below the loss. Goodput is the rate; the plot has throughput too.
  const HIDDEN = new Set(["mode", "state", "suspect_rules", "uncounted_reason", "exhibits", "throughput_bps", "line_rate_bps", "loss_pattern"]);
  // On a phone these come first: what a list is looked through for. Below the job is why a run is suspect.
  const FIRST = ["cc_list", "flows_count", "rtt_ms", "loss_pct", "rate_bps", "session", "deviation_z", "job"];
  // Beside a run that is open there is room for these.
  const MAIN = [...FIRST, "iteration"];
  const isPhone = () => matchMedia("(max-width: 40rem)").matches;
  // What is left out first where the list is too narrow, and what next.
  const LAST = ["host", "sender_host"];
  const LATE = ["rtt_min_ms", "cpu_sender_mean_pct", "cpu_receiver_mean_pct"];
  const rankOf = key => (MAIN.includes(key) ? null : LAST.includes(key) ? "x-more x-last" : LATE.includes(key) ? "x-more x-late" : "x-more");
  const classOf = ({ key, isText }, ofText) => [isText ? ofText : "x-number", rankOf(key)].filter(Boolean).join(" ") || null;
  const isKnown = column => column.rank.some(value => value !== null && value !== -1);

  const nameOutlier = (list, row) => (explorer.isOutlier(list, row) ? "outlier" : "");

  // All text of the archive enters the page here, as text.
  explorer.make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter(child => child !== null));
    return element;
  };
  const { make } = explorer;

  // `actions`: sort(key), turn(page), pick(row), toggle(row).
  explorer.Table = class {
    constructor(list, table, actions) {
      this.list = list;
      this.table = table;
      this.actions = actions;
      const known = [...list.columns.values()].filter(column => !HIDDEN.has(column.key) && isKnown(column));
      const first = isPhone() ? known.filter(column => FIRST.includes(column.key)) : [];
      first.sort((a, b) => FIRST.indexOf(a.key) - FIRST.indexOf(b.key));
      this.columns = [...new Set([...first, ...known])];
      this.focused = 0;
      this.head = this.columns.map(column => this.makeHeader(column));
      const corner = make("th", { class: "x-pick", scope: "col" }, make("span", { class: "x-hidden" }, "Picked"));
      this.body = make("tbody");
      table.replaceChildren(make("thead", {}, make("tr", {}, corner, ...this.head)), this.body);
      this.body.addEventListener("click", event => this.click(event));
      this.body.addEventListener("keydown", event => this.press(event));
      this.body.addEventListener("focusin", event => this.follow(event.target.closest("tr")));
    }

    makeHeader(column) {
      const unit = column.unit ? make("span", { class: "x-unit" }, column.unit) : null;
      const button = make("button", { type: "button", title: column.description }, `${column.label} `, unit);
      button.addEventListener("click", () => this.actions.sort(column.key));
      return make("th", { scope: "col", class: classOf(column, null), "data-key": column.key }, button);
    }

    pages(rows) {
      return Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
    }

    // Of the run in that place: its page, and how far below the table's top it is there.
    pageOf(place) {
      return Math.floor(place / PAGE_ROWS);
    }

    offsetOf(place) {
      return this.body.rows[place % PAGE_ROWS].offsetTop;
    }

    show(rows, sort, page, picked) {
      this.columns.forEach((column, i) => {
        const direction = { [column.key]: "ascending", [`-${column.key}`]: "descending" }[sort];
        if (direction) this.head[i].setAttribute("aria-sort", direction);
        else this.head[i].removeAttribute("aria-sort");
      });
      this.first = page * PAGE_ROWS;
      // What no listed run has takes no room.
      this.absent = this.columns.map(column => rows.length > 0 && rows.every(row => column.value(row) === null));
      this.absent.forEach((isAbsent, i) => (this.head[i].hidden = isAbsent));
      this.shown = rows.slice(this.first, this.first + PAGE_ROWS);
      this.focused = Math.min(this.focused, Math.max(0, this.shown.length - 1));
      this.table.setAttribute("aria-rowcount", rows.length + 1);
      const texts = this.columns.map(column => this.listTexts(column));
      this.body.replaceChildren(...this.shown.map((row, i) => this.makeRow(row, i, texts)));
      this.mark(picked);
    }

    listTexts(column) {
      const texts = this.shown.map(column.shorten ?? column.show);
      return column.isText ? texts : explorer.alignPoints(texts);
    }

    makeRow(row, i, texts) {
      const name = `${explorer.nameRun(this.list, row)}, ${this.list.columns.get("job").show(row)}`;
      const box = make("input", { type: "checkbox", tabindex: "-1", "aria-label": `Pick ${name}` });
      const cells = this.columns.map((column, place) => this.makeCell(column, row, texts[place][i]));
      cells.forEach((cell, place) => (cell.hidden = this.absent[place]));
      const attributes = { tabindex: i === this.focused ? "0" : "-1", "aria-rowindex": this.first + i + 2 };
      if (this.list.columns.get("state").value(row) === "suspect") attributes.class = "x-suspect";
      return make("tr", attributes, make("td", { class: "x-pick" }, box), ...cells);
    }

    makeCell(column, row, text) {
      const cell = make("td", { class: classOf(column, "x-text"), title: column.isText ? column.value(row) : null, "data-key": column.key });
      if (column.key === "cc_list") cell.append(...this.makeDots(row));
      cell.append(text);
      const describe = { job: explorer.describeState, loss_pct: explorer.namePattern, deviation_z: nameOutlier }[column.key];
      const more = describe ? describe(this.list, row) : "";
      if (more) cell.append(make("small", { title: more }, more));
      return cell;
    }

    makeDots(row) {
      return explorer.listAlgorithms(this.list, row).map(cc => {
        const dot = make("span", { class: "x-dot", "aria-hidden": "true" });
        dot.style.setProperty("--light", this.list.algorithms.get(cc).light);
        dot.style.setProperty("--dark", this.list.algorithms.get(cc).dark);
        return dot;
      });
    }

    mark(picked) {
      [...this.body.rows].forEach((element, i) => {
        const letter = picked.indexOf(this.shown[i]);
        element.setAttribute("aria-selected", letter >= 0);
        element.querySelector("input").checked = letter >= 0;
      });
    }

    click(event) {
      const element = event.target.closest("tr");
      const row = this.shown[element.sectionRowIndex];
      const isMore = event.target.closest(".x-pick") || event.ctrlKey || event.metaKey || event.shiftKey;
      if (event.target.closest(".x-pick") && event.target.tagName !== "INPUT") event.preventDefault();
      if (isMore) this.actions.toggle(row);
      else this.actions.pick(row);
    }

    press(event) {
      const last = this.shown.length - 1;
      const to = { ArrowDown: this.focused + 1, ArrowUp: this.focused - 1, Home: 0, End: last }[event.key];
      const turn = { PageDown: 1, PageUp: -1 }[event.key];
      if (to !== undefined) this.focus(Math.max(0, Math.min(last, to)));
      else if (turn) this.actions.turn(turn);
      else if (event.key === "Enter") this.actions.pick(this.shown[this.focused]);
      else if (event.key === " ") this.actions.toggle(this.shown[this.focused]);
      else return;
      event.preventDefault();
    }

    focus(i) {
      this.body.rows[i]?.focus();
    }

    follow(element) {
      if (this.body.rows[this.focused]) this.body.rows[this.focused].tabIndex = -1;
      element.tabIndex = 0;
      this.focused = element.sectionRowIndex;
    }
  };
})();
