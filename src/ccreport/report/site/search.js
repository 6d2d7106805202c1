// The search page: finds the words of its field in `searchDocuments`, rows of page, label, page title, section, text.
"use strict";
(() => {
  const MOST = 50;
  const AROUND = 100;
  // Of a text the first so many places of the words are looked at.
  const PLACES = 300;
  // Of pages that match as well, the summary goes first, and those with results and what was left out go before how they were made, and both before
  // lists of columns and commands, which have most words.
  const WEIGHTS = { index: 2, methods: 0.5, dictionary: 0.2, changes: 0.2, docs: 0.2, tutorial: 0.2, own_archive: 0.2, evaluations: 0.2 };
  Object.assign(WEIGHTS, { collect: 0.2, elsewhere: 0.2, cluster: 0.2, publish: 0.2, configuration: 0.2, commands: 0.2, performance: 0.2 });
  // What a reader may call it, and what pages do.
  const OTHER_WORDS = {
    share: "starve starved starves starving starvation unfair fair fairness",
    rtt: "latency delay ping",
    rate: "bandwidth speed",
    faster: "vs versus beat beats better wins quicker",
    retransmit: "resend resent",
    excluded: "exclusion omitted discarded rejected",
    repetitions: "repeats replicates replications",
    licence: "license licensing",
  };
  // What answers a question of few words that many sections have: of the archive, and before how to do it with another.
  // The words are in any order, with or without fillers.
  const LEADS = [
    ["kernel, kernel version", "index.html", "What was measured"],
    ["kernel, kernel version", "collection.html", "What was declared"],
    ["equal, tie, ties, draw, same", "methods.html", "Comparing two algorithms"],
    ["rerun, run again, repeat, make again, reproduce", "provenance.html", "Run it again"],
    ["license, licence, cite, citation, doi", "index.html", "How to cite"],
    ["raw file, raw data", "ledger.html", "What became of every file"],
    ["raw file cell, raw data cell, raw file number, raw data number", "tables.html", ""],
  ];
  const EXHIBIT = /\b(table|figure) (s?\d+|[ivx]+)\b/i;
  const FILLERS = ["used", "one", "single", "behind"];
  // Words of who asks for a definition, which the methods have.
  const DEFINING = /^(defin|comput|calculat|meaning)/;
  // Pages that answer what happens under some conditions, in this order; figures and claims show it.
  const RESULTS = ["index.html", "tables.html", "conditions.html"];
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

  // 80ms and 0.01% as pages write them: 80 ms, 0.01 %.
  const split = words =>
    lunr
      .tokenizer(words.replace(/(\d)(%|ms\b)/gi, "$1 $2"))
      .map(token => String(lunr.trimmer(token)))
      .filter(token => /\w/.test(token));
  const prefer = (tokens, isTelling) => (tokens.some(isTelling) ? tokens.filter(isTelling) : tokens);
  // Without "of" and the like, which the index leaves out: none of its sections would have all of the words.
  const choose = words => prefer(prefer(split(words), token => lunr.stopWordFilter(token)), token => !DEFINING.test(token));
  const stem = words => split(words).map(token => String(lunr.stemmer(new lunr.Token(token))));
  const synonyms = new Map(
    Object.entries(OTHER_WORDS).flatMap(([word, others]) => stem(others).map(other => [other, word])),
  );
  const translate = words => choose(words).map(token => synonyms.get(stem(token)[0]) ?? token).join(" ");

  // A section that answers just these words goes first, then a page whose title they are, then pages whose titles have all.
  const sortWords = tokens => stem(tokens.join(" ")).sort().join(" ");
  const rankTitle = tokens => {
    const wanted = stem(tokens.join(" "));
    const asked = sortWords(prefer(tokens, token => !FILLERS.includes(token)));
    const leads = LEADS.filter(([questions]) => questions.split(", ").some(question => sortWords(split(question)) === asked));
    return ([page, label, title, section]) => {
      const lead = leads.findIndex(([, ofPage, heading]) => page === ofPage && section === heading);
      if (lead >= 0) return lead - leads.length;
      if (label) return 2;
      const found = stem(title);
      if (!wanted.every(word => found.includes(word))) return 2;
      return found.length === wanted.length ? 0 : 1;
    };
  };

  // Of a section how many of the words its heading has, where these are at least half of them, and two unless there is
  // but one; of the methods, which define what their headings name, a little more.
  const countHeaded = tokens => {
    const wanted = stem(tokens.join(" "));
    return row => {
      const [page, , , section] = searchDocuments[row];
      const found = stem(section);
      const count = wanted.filter(word => found.includes(word)).length;
      return [row, count >= Math.min(2, wanted.length) && 2 * count >= wanted.length ? count + (page === "methods.html" ? 0.5 : 0) : 0];
    };
  };

  // How many of the numbers that are asked for a section does not have: at 1 % loss is not at 0.01 %, nor 1 flow. That
  // of a table or figure, Table II or Figure S8, is to begin its heading.
  const countLacked = (words, tokens) => {
    const exhibit = words.match(EXHIBIT);
    const numbers = tokens.filter(token => /^\d/.test(token) && token !== exhibit?.[2]);
    const shares = new Set([...words.matchAll(/(\d[\d.]*) ?%/g)].map(([, number]) => number));
    const write = number => `(?<![\\d.])${number.replaceAll(".", "\\.")}${shares.has(number) ? " ?%" : "(?!\\.?\\d|\\p{L})"}`;
    const patterns = numbers.map(number => new RegExp(write(number), "iu"));
    const begins = exhibit && new RegExp(`^${exhibit[0]}\\b`, "i");
    return row => {
      const [, , , section, text] = searchDocuments[row];
      const lacks = patterns.filter(pattern => !pattern.test(section) && !pattern.test(text)).length;
      return [row, lacks + (begins && !begins.test(section) ? 1 : 0)];
    };
  };

  // The first section of each page of results that has all words and numbers of some conditions; tables call any version
  // of BBR that.
  const findResults = (tokens, rows, lacked) => {
    const wanted = stem(tokens.join(" ")).map(word => word.replace(/^(bbr)v?\d$/, "$1"));
    const hasAll = row => {
      const text = `${searchDocuments[row][3]} ${searchDocuments[row][4]}`.toLowerCase();
      return !lacked.get(row) && wanted.every(word => text.includes(word));
    };
    const having = tokens.some(token => /^\d/.test(token)) ? rows.filter(hasAll).sort((a, b) => a - b) : [];
    return RESULTS.flatMap(page => having.filter(row => searchDocuments[row][0] === page).slice(0, 1));
  };

  const search = words => {
    const tokens = choose(words);
    if (!tokens.length) return [];
    index = index || open();
    // All of the words first, then sections with at least half of them, also within longer words; a number is no part of another.
    const all = index.query(query => query.term(tokens, { presence: lunr.Query.presence.REQUIRED }));
    const stems = stem(tokens.join(" "));
    const some = index.query(query => {
      for (const word of stems) {
        const wildcard = /^\d/.test(word) ? lunr.Query.wildcard.NONE : lunr.Query.wildcard.TRAILING;
        query.term(word, { wildcard, usePipeline: false });
      }
    });
    const has = (terms, word) => terms.some(term => (/^\d/.test(word) ? term === word : term.startsWith(word)));
    const isHalf = ({ matchData }) => {
      const terms = Object.keys(matchData.metadata);
      return 2 * stems.filter(word => has(terms, word)).length >= stems.length;
    };
    const ranks = searchDocuments.map(rankTitle(tokens));
    const titled = [...ranks.keys()].filter(row => ranks[row] < 2).sort((a, b) => ranks[a] - ranks[b]);
    const rows = [...all, ...some.filter(isHalf)].map(hit => Number(hit.ref));
    const headed = new Map(rows.map(countHeaded(tokens)));
    const lacked = new Map(rows.map(countLacked(words, tokens)));
    const results = EXHIBIT.test(words) ? [] : findResults(tokens, rows, lacked);
    const isDefining = split(words).some(token => DEFINING.test(token));
    const defines = row => Number(isDefining && searchDocuments[row][0] === "methods.html");
    const sorted = rows.sort((a, b) => lacked.get(a) - lacked.get(b) || defines(b) - defines(a) || headed.get(b) - headed.get(a));
    return [...titled, ...results, ...sorted];
  };

  // By the pages' own words a section of the first page answers it, if at all, before the others go into it.
  const find = words => {
    const [found, other] = [search(words), translate(words)];
    if (other === choose(words).join(" ")) return [...new Set(found)];
    const more = search(other);
    const front = more.filter(row => searchDocuments[row][0] === "index.html").slice(0, 1);
    return [...new Set([...front, ...found, ...more])];
  };

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Where most of the words are near each other: each of them marked, a number whole.
  const match = (text, words) => {
    const tokens = prefer([...new Set([...choose(words), ...split(translate(words))])], token => !FILLERS.includes(token));
    const escaped = tokens.map(word => `${word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}${/^\d/.test(word) ? "(?!\\.?\\d)" : ""}`);
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}]|\\d\\.)(${escaped.join("|")})`, "giu");
    return [pattern, [...text.matchAll(pattern)].slice(0, PLACES).map(found => [found.index, found[0].toLowerCase()])];
  };
  const findDense = places => {
    const near = places.map(([start]) => new Set(places.filter(([at]) => at >= start && at < start + AROUND).map(([, word]) => word)).size);
    return places.length ? places[near.indexOf(near.reduce((a, b) => Math.max(a, b)))][0] : 0;
  };

  // That part of a text and, of the numbers that it does not have, another.
  const cut = (text, words) => {
    const [pattern, places] = match(text, words);
    const first = findDense(places);
    const shown = new Set(places.filter(([at]) => at >= first && at < first + AROUND).map(([, word]) => word));
    const others = places.filter(([, word]) => /^\d/.test(word) && !shown.has(word));
    const starts = others.length ? [first, findDense(others)].sort((a, b) => a - b) : [first];
    const length = (2 * AROUND) / starts.length;
    return starts.flatMap((at, i) => {
      const before = AROUND / starts.length;
      const from = at > before ? text.indexOf(" ", at - before) + 1 : 0;
      const parts = text.slice(from, at + length).split(pattern);
      const pieces = parts.map((piece, n) => (n % 2 ? make("mark", { textContent: piece }) : piece));
      return [from ? (i ? " … " : "… ") : "", ...pieces, i === starts.length - 1 && at + length < text.length ? " …" : ""];
    });
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
