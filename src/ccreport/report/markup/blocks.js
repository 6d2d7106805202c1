// What blocks of pages do, whichever renderer made them: parts that are closed, and boxes that scroll. Without script a
// reader opens such a part.
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

  document.addEventListener("DOMContentLoaded", () => {
    openFold();
    addEventListener("hashchange", openFold);
    watchBoxes(document.querySelectorAll(BOXES));
  });
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.fold")) fold.open = true;
    for (const image of document.querySelectorAll("img[loading=lazy]")) image.loading = "eager";
  });
})();
