// A backend's page: what is filtered stands in the address, so that it can be linked to, reloaded and gone back to.
"use strict";

(() => {
  const form = document.getElementById("filters");
  const count = document.getElementById("count");
  const rows = [...document.querySelectorAll("#rows tbody tr")].map((row) => ({
    row,
    q: row.cells[0].textContent.toLowerCase(),
    route: row.cells[1].textContent,
    evidence: row.cells[2].textContent,
    category: row.dataset.c,
  }));
  const fields = ["q", "route", "evidence", "category"];

  function apply() {
    const wanted = Object.fromEntries(fields.map((name) => [name, form.elements[name].value.trim()]));
    wanted.q = wanted.q.toLowerCase();
    let shown = 0;
    for (const one of rows) {
      const fits = one.q.includes(wanted.q) && ["route", "evidence", "category"].every((name) => !wanted[name] || one[name] === wanted[name]);
      one.row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = shown === rows.length ? `${rows.length} members` : `${shown} of ${rows.length} members`;
  }

  function read() {
    const asked = new URLSearchParams(location.search);
    for (const name of fields) form.elements[name].value = asked.get(name) ?? "";
    apply();
  }

  function write(replacing) {
    const asked = new URLSearchParams();
    for (const name of fields) {
      const value = form.elements[name].value.trim();
      if (value) asked.set(name, value);
    }
    const address = asked.size ? `?${asked}` : location.pathname;
    try {
      if (replacing) history.replaceState(null, "", address);
      else history.pushState(null, "", address);
    } catch { /* some browsers keep the address of a file as it is */ }
    apply();
  }

  form.addEventListener("input", (event) => { if (event.target.name === "q") write(true); });
  form.addEventListener("change", (event) => { if (event.target.name !== "q") write(false); });
  form.addEventListener("submit", (event) => { event.preventDefault(); write(false); });
  form.addEventListener("reset", () => setTimeout(() => write(false), 0));
  window.addEventListener("popstate", read);
  read();
})();
