// The search page: finds the words of its field in `searchDocuments`, rows of page, label, page title, section, text.
"use strict";
(() => {
  const MOST = 50;
  const AROUND = 100;
  // Of pages that match as well, those with results and what was left out go before how they were made, and both before
  // lists of columns and commands, which have most words.
  const WEIGHTS = { methods: 0.5, dictionary: 0.2, changes: 0.2, docs: 0.2, tutorial: 0.2, own_archive: 0.2, evaluations: 0.2 };
  Object.assign(WEIGHTS, { collect: 0.2, elsewhere: 0.2, cluster: 0.2, publish: 0.2, configuration: 0.2, commands: 0.2, performance: 0.2 });
  lunr.tokenizer.separator = /[\s\-/,;:()=]+/;

  let index = null;
  const open = () =>
    lunr(builder => {
      builder.ref("row");
      builder.field("section", { boost: 8 });
      builder.field("title", { boost: 4 });
      builder.field("text");
      searchDocuments.forEach(([page, , title, section, text], row) =>
        builder.add({ row, title, section, text }, { boost: WEIGHTS[page.replace(/\.html$/, "")] ?? 1 }),
      );
    });

  const split = words => lunr.tokenizer(words).map(String).filter(token => /\w/.test(token));
  // Without "of" and the like, which the index leaves out: none of its sections would have all of the words.
  const choose = words => {
    const tokens = split(words);
    const telling = tokens.filter(lunr.stopWordFilter);
    return telling.length ? telling : tokens;
  };
  const stem = words => split(words).map(token => String(lunr.stemmer(new lunr.Token(token))));

  // A page whose title is just what is looked for goes first, then pages whose titles have all of the words.
  const rankTitle = words => {
    const wanted = stem(words);
    return ([, label, title]) => {
      if (label) return 2;
      const found = stem(title);
      if (!wanted.every(word => found.includes(word))) return 2;
      return found.length === wanted.length ? 0 : 1;
    };
  };

  const find = words => {
    const tokens = choose(words);
    if (!tokens.length) return [];
    index = index || open();
    // All of the words first, then sections with some of them or with longer words.
    const all = index.query(query => query.term(tokens, { presence: lunr.Query.presence.REQUIRED }));
    const some = index.query(query => query.term(tokens, { wildcard: lunr.Query.wildcard.TRAILING, usePipeline: false }));
    const ranks = searchDocuments.map(rankTitle(words));
    const titled = [0, 1].flatMap(rank => ranks.flatMap((found, row) => (found === rank ? [row] : [])));
    return [...new Set([...titled, ...[...all, ...some].map(hit => Number(hit.ref))])];
  };

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // The text around the first of the words, each of them marked.
  const cut = (text, words) => {
    const escaped = choose(words).map(word => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join("|")})`, "giu");
    const at = Math.max(0, text.search(pattern));
    const from = at > AROUND ? text.indexOf(" ", at - AROUND) + 1 : 0;
    const part = text.slice(from, at + 2 * AROUND);
    const pieces = part.split(pattern).map((piece, i) => (i % 2 ? make("mark", { textContent: piece }) : piece));
    return [from ? "… " : "", ...pieces, at + 2 * AROUND < text.length ? " …" : ""];
  };

  const field = document.getElementById("search-words");
  const show = () => {
    const words = field.value.trim();
    const rows = find(words);
    const items = rows.slice(0, MOST).map(row => {
      const [page, label, title, section, text] = searchDocuments[row];
      const link = make("a", { href: label ? `${page}#${encodeURIComponent(label)}` : page, textContent: section || title });
      const where = make("span", { className: "search-page", textContent: section ? title : "" });
      return make("li", {}, link, " ", where, make("p", {}, ...cut(text, words)));
    });
    document.getElementById("search-results").replaceChildren(...items);
    const count = rows.length > MOST ? `The first ${MOST} of ${rows.length} sections` : `${rows.length} sections`;
    document.getElementById("search-count").textContent = words ? `${count.replace(/^1 sections/, "1 section")} found.` : "";
  };

  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", show);
  field.focus();
  show();
})();
