// The home page's search: all names of torch, by part, by another of their names, and with a typing error; documents.
// The index is a script (assets/index.js), so that it loads from file:// as well; searching.py says how it is coded.
"use strict";

(() => {
  const SHOWN = 30;
  const SIGNS = { fallback: "↩", unsupported: "✕" };
  const box = document.getElementById("q");
  const list = document.getElementById("results");
  const status = document.getElementById("status");
  let entries = null;
  let index = null;
  let selected = -1;

  function decoded(text) {
    let last = "";
    return text === "" ? [] : text.split("\n").map((line) => {
      last = last.slice(0, line.charCodeAt(0) - 32) + line.slice(1);
      return last;
    });
  }

  window.tdevIndex = (data) => {
    index = data;
    const names = decoded(data.names);
    const members = names.map((name, at) => {
      const [answer, kind, priority] = data.attributes.slice(3 * at, 3 * at + 3);
      const lower = kind.toLowerCase();
      return {
        name,
        shown: name,
        answers: data.answers[answer.charCodeAt(0) - 48],
        kind: data.kinds[lower],
        priority: Number(priority),
        address: address(name, data.kinds[lower], kind !== lower),
      };
    });
    entries = members.map((one) => one);
    decoded(data.others).forEach((name, at) => entries.push({ ...members[data.othersOf[at]], name }));
    for (const name of decoded(data.modules)) {
      entries.push({ name, shown: name, kind: "module", priority: 1, address: `modules/${name}.html` });
    }
    for (const name of decoded(data.methods)) {
      entries.push({ name, shown: name, kind: "method", priority: 2, address: `functions/methods.html#${name}` });
    }
    const byName = new Map(entries.map((one) => [one.name, one]));
    for (const [name, successor] of Object.entries(data.gone)) {
      const target = byName.get(successor);
      const gone = { name, kind: "gone", priority: 3, address: `functions/plan.html#${name}` };
      entries.push(target ? { ...target, ...gone, shown: successor } : { ...gone, shown: name });
    }
    for (const [title, address] of data.documents) {
      entries.push({ name: title, shown: title, kind: "page", priority: 4, address });
    }
    for (const one of entries) {
      one.low = one.name.toLowerCase();
      // A rule is asked for by its name, an error by its number: their pages are called so.
      if (one.kind === "page") one.low += ` .${one.address.replace(/(\/index)?\.html$/, "").replace(/^.*\//, "").toLowerCase()}`;
      one.cuda = one.low.startsWith("torch.cuda.");
      one.last = one.low.slice(one.low.lastIndexOf(".") + 1);
    }
    show();
  };

  function address(name, kind, special) {
    const dot = name.lastIndexOf(".");
    const last = name.slice(dot + 1);
    if (!special) return `modules/${name.slice(0, dot)}.html#${name}`;
    return `api/${name}${last === last.toLowerCase() ? "" : `.${kind}`}.html`;
  }

  // The number of insertions, deletions, changes and swaps of neighbours, given up above `limit`.
  function distance(a, b, limit) {
    if (Math.abs(a.length - b.length) > limit) return limit + 1;
    let before = [];
    let row = Array.from({ length: b.length + 1 }, (_, at) => at);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      let least = i;
      for (let j = 1; j <= b.length; j++) {
        const same = a[i - 1] === b[j - 1];
        let cost = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (same ? 0 : 1));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2] + 1);
        next.push(cost);
        least = Math.min(least, cost);
      }
      if (least > limit) return limit + 1;
      [before, row] = [row, next];
    }
    return row[b.length];
  }

  function wanted(text) {
    return text.trim().toLowerCase().replace(/\(.*$/, "").replace(/^(?:import|from)\s+/, "")
      .replace(/^tdev\b/, "torch").replace(/\s+import\s+/, ".").replace(/\s+/g, " ");
  }

  // Lower is better; null is no answer.
  function rank(one, query, words) {
    const { low, last } = one;
    if (low === query) return 0;
    if (last === query) return 1;
    if (low.endsWith(`.${query}`)) return 1;
    if (last.startsWith(query)) return 2;
    if (low.startsWith(query)) return 3;
    if (low.includes(`.${query}`)) return 4;
    if (low.includes(query)) return 5;
    return words.length > 1 && words.every((word) => low.includes(word)) ? 6 : null;
  }

  function find(query) {
    const words = query.split(/[ ._]+/).filter(Boolean);
    const scored = [];
    for (const one of entries) {
      const score = rank(one, query, words);
      if (score !== null) scored.push([score, one]);
    }
    if (scored.length === 0 && query.length > 2) {
      const last = query.slice(query.lastIndexOf(".") + 1);
      const limit = last.length > 7 ? 2 : 1;
      for (const one of entries) {
        const off = query.includes(".")
          ? Math.min(distance(query, one.low, 2), one.low.startsWith("torch.") ? distance(query, one.low.slice(6), 2) : 3)
          : distance(last, one.last, limit) + (2 - limit);
        if (off <= 2) scored.push([7 + off, one]);
      }
    }
    scored.sort(([a, x], [b, y]) => a - b || x.priority - y.priority || Number(y.cuda) - Number(x.cuda) || x.low.length - y.low.length || (x.name < y.name ? -1 : 1));
    const seen = new Set();
    return scored.map(([, one]) => one).filter((one) => !seen.has(one.address) && seen.add(one.address));
  }

  function show() {
    const query = wanted(box.value);
    selected = -1;
    box.removeAttribute("aria-activedescendant");
    if (entries === null || query === "") {
      list.replaceChildren();
      box.setAttribute("aria-expanded", "false");
      status.textContent = "";
      return;
    }
    const found = find(query);
    list.replaceChildren(...found.slice(0, SHOWN).map(option));
    box.setAttribute("aria-expanded", String(found.length > 0));
    const more = found.length > SHOWN ? `, the first ${SHOWN} shown` : "";
    status.textContent = found.length === 0 ? "Nothing fits." : `${found.length} found${more}`;
  }

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.textContent = text;
    return made;
  }

  function option(one, at) {
    const link = document.createElement("a");
    link.href = one.address;
    link.id = `option-${at}`;
    link.setAttribute("role", "option");
    link.setAttribute("aria-selected", "false");
    link.tabIndex = -1;
    link.append(element(one.kind === "page" ? "span" : "code", "name", one.name));
    if (one.answers && one.kind !== "gone") {
      const marks = element("span", "marks", "");
      const routes = new Set(one.answers);
      if (routes.size === 1) {
        marks.append(element("span", one.answers[0], one.answers[0] === "same" ? "same everywhere" : `${one.answers[0]} everywhere`));
      } else {
        for (const backend of ["cuda", "mps", "mlx", "cpu"]) {
          const route = one.answers[index.backends.indexOf(backend)];
          const mark = element("span", route, `${SIGNS[route] ?? "✓"} ${backend}`);
          mark.title = `${backend}: ${route}`;
          mark.append(element("span", "heard", ` ${route}`));
          marks.append(mark);
        }
      }
      link.append(marks);
    }
    const about = one.kind === "gone" ? "torch no longer has it" : one.name === one.shown ? one.kind.replace("_", " ") : `another name of ${one.shown}`;
    link.append(element("span", one.name === one.shown ? "as" : "as below", about));
    return link;
  }

  function select(to) {
    const options = list.children;
    if (options.length === 0) return;
    if (selected >= 0) options[selected].setAttribute("aria-selected", "false");
    selected = (to + options.length) % options.length;
    options[selected].setAttribute("aria-selected", "true");
    options[selected].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", options[selected].id);
  }

  function remember() {
    const query = box.value.trim();
    const address = query ? `?q=${encodeURIComponent(query)}` : location.pathname;
    try {
      history.replaceState(null, "", address);
    } catch { /* some browsers keep the address of a file as it is */ }
  }

  let asked = false;
  function load() {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = "assets/index.js";
    document.head.append(script);
  }

  box.addEventListener("input", () => { load(); show(); remember(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(selected + 1);
    else if (event.key === "ArrowUp") select(selected < 0 ? -1 : selected - 1);
    else if (event.key === "Escape") { box.value = ""; show(); remember(); } else return;
    event.preventDefault();
  });
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = list.children[Math.max(selected, 0)];
    if (chosen) location.href = chosen.href;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  });
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  // The first view needs no index; what comes with a question, or stays a moment, does.
  if (box.value) load();
  else if (document.readyState === "complete") load();
  else window.addEventListener("load", () => setTimeout(load, 0));
})();
