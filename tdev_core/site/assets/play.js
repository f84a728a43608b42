// The playground's page: hands the text to the server of this machine, and shows what comes back as text.
"use strict";

(() => {
  const form = document.getElementById("play");
  const source = document.getElementById("source");
  const said = document.getElementById("said");
  let answer = null;

  function put(id, ...children) {
    document.getElementById(id).replaceChildren(...children);
  }

  function show() {
    if (answer === null) return;
    const one = answer[form.elements.style.value];
    put("code", one.code);
    put("diff", ...one.diff.split(/(?<=\n)/).map((line) => {
      const made = document.createElement("span");
      if (line.startsWith("+") && !line.startsWith("+++")) made.className = "gi";
      if (line.startsWith("-") && !line.startsWith("---")) made.className = "gd";
      made.textContent = line;
      return made;
    }));
    put("findings", ...one.findings.map((finding) => {
      const made = document.createElement("li");
      const rule = document.createElement("a");
      rule.href = `docs/codemod/${encodeURIComponent(finding.rule)}.html`;
      rule.textContent = finding.rule;
      made.append(`line ${finding.line}, ${finding.severity}: ${finding.message} (`, rule, ")");
      return made;
    }));
    said.textContent = one.error || (one.diff ? `Migrated; ${one.findings.length} to look at.` : "Nothing to change.");
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    said.textContent = "Migrating …";
    try {
      const reply = await fetch("migrate", { method: "POST", body: source.value, headers: { "Content-Type": "text/plain; charset=utf-8" } });
      if (reply.ok) answer = await reply.json();
      else said.textContent = await reply.text();
      if (reply.ok) show();
    } catch {
      said.textContent = "The playground's server has ended.";
    }
  });
  form.addEventListener("change", (event) => { if (event.target.name === "style") show(); });
})();
