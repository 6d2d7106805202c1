// What blocks of pages do, whichever renderer made them: parts that are closed, boxes that scroll, and figures that a tap
// enlarges on a phone. Without script a reader opens such a part, and the link of a figure opens its drawing.
"use strict";
(() => {
  // Around tables and figures of ours; Quarto puts code into boxes, and makes boxes of the pages' own tables.
  const BOXES = ".table-scroll, .figure-scroll, table.table, div.sourceCode, pre:not(.sourceCode)";

  // A link leads to a section whose part is closed.
  const openFold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.querySelector(":scope > details.fold");
    if (fold) fold.open = true;
  };

  // Long lists are closed on a phone.
  const phone = matchMedia("(max-width: 40rem)");
  const foldLists = () => {
    for (const list of document.querySelectorAll("details.on-phone")) list.open = !phone.matches;
    openFold();
  };

  // A box is a stop of the Tab key only where there is something to scroll.
  const watchBoxes = boxes => {
    const observer = new ResizeObserver(entries => {
      for (const { target } of entries) {
        const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
        target.tabIndex = scrolls ? 0 : -1;
      }
    });
    for (const box of boxes) observer.observe(box);
  };

  // On a phone a tap shows a figure as large as it was drawn, in a box that scrolls sideways, and another one fits it in.
  const setUpFigure = link => {
    const [box, image] = [link.closest(".figure-scroll"), link.querySelector("img")];
    const fit = () => {
      if (phone.matches) link.setAttribute("aria-expanded", "false");
      else link.removeAttribute("aria-expanded");
    };
    link.addEventListener("click", event => {
      if (!phone.matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const before = image.getBoundingClientRect();
      const isEnlarged = link.getAttribute("aria-expanded") !== "true";
      link.setAttribute("aria-expanded", String(isEnlarged));
      // The axis at the left edge is in sight, and the height that was tapped; a click of the keyboard's has none.
      const y = event.detail > 0 ? event.clientY - before.top : 0;
      box.scrollLeft = 0;
      scrollBy({ top: y * (image.clientWidth / before.width - 1), behavior: "instant" });
    });
    phone.addEventListener("change", fit);
    fit();
  };

  document.addEventListener("DOMContentLoaded", () => {
    foldLists();
    phone.addEventListener("change", foldLists);
    document.querySelectorAll(".figure-scroll a:has(> img)").forEach(setUpFigure);
    addEventListener("hashchange", openFold);
    watchBoxes(document.querySelectorAll(BOXES));
  });
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
    for (const image of document.querySelectorAll("img[loading=lazy]")) image.loading = "eager";
  });
})();
