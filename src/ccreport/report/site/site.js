// What pages of the embedded renderer do: the theme, tabs and the menu. Without script all of them are readable.
"use strict";
(() => {
  const root = document.documentElement;
  const KEY = "ccreport-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");

  // Pages opened from disk, and browsers told so, may keep nothing.
  const recall = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const remember = theme => {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The choice then holds for this page.
    }
  };

  const chosen = recall();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  const setUpTheme = button => {
    // It says what a click gives.
    const show = () => (button.textContent = isDark() ? "Light" : "Dark");
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      show();
    });
    system.addEventListener("change", show);
    button.hidden = false;
    show();
  };

  const setUpTabs = set => {
    const list = set.querySelector("[role=tablist]");
    const tabs = [...list.children];
    const panels = tabs.map(tab => document.getElementById(tab.getAttribute("aria-controls")));
    const select = (number, hasFocus) =>
      tabs.forEach((tab, i) => {
        tab.setAttribute("aria-selected", String(i === number));
        tab.tabIndex = i === number ? 0 : -1;
        panels[i].classList.toggle("hidden", i !== number);
        if (hasFocus && i === number) tab.focus();
      });
    tabs.forEach((tab, i) => {
      const last = tabs.length - 1;
      const next = { ArrowRight: i === last ? 0 : i + 1, ArrowLeft: i === 0 ? last : i - 1, Home: 0, End: last };
      tab.addEventListener("click", () => select(i, false));
      tab.addEventListener("keydown", event => {
        if (!(event.key in next)) return;
        event.preventDefault();
        select(next[event.key], true);
      });
    });
    // A link may lead to something in a panel that is not shown.
    const reveal = () => {
      const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const number = target ? panels.findIndex(panel => panel.contains(target)) : -1;
      if (number < 0) return;
      select(number, false);
      target.scrollIntoView();
    };
    list.hidden = false;
    set.classList.add("active");
    select(0, false);
    reveal();
    addEventListener("hashchange", reveal);
  };

  // Without script a menu is closed as it was opened.
  const setUpMenu = menu => {
    const leave = event => {
      if (!menu.contains(event.target)) menu.open = false;
    };
    addEventListener("click", leave);
    addEventListener("focusin", leave);
    menu.addEventListener("keydown", event => {
      if (event.key !== "Escape") return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  };

  document.addEventListener("DOMContentLoaded", () => {
    setUpTheme(document.getElementById("theme"));
    document.querySelectorAll(".tabset").forEach(setUpTabs);
    document.querySelectorAll("details.menu").forEach(setUpMenu);
  });
})();
