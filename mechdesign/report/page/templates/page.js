"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (text) => { if (said) said.textContent = text; };

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = button.dataset.copy;
      let copied = false;
      try {
        await navigator.clipboard.writeText(text);
        copied = true;
      } catch {
        const code = button.parentElement.querySelector("code");
        getSelection().selectAllChildren(code); // the keyboard can copy what is selected
      }
      button.textContent = copied ? "Copied" : "Selected";
      say(copied ? "Copied: " + text : "Selected; copy it with the keyboard: " + text);
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  const form = document.querySelector("form.filter");
  if (!form) return;
  const entries = [...document.querySelectorAll("article")];
  const apply = () => {
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const family = form.elements.family.value;
    const verdict = form.elements.verdict.value;
    let shown = 0;
    for (const entry of entries) {
      const fits = words.every((word) => entry.dataset.words.includes(word))
        && (!family || entry.dataset.family === family)
        && (!verdict || entry.dataset.verdicts.split(" ").includes(verdict));
      entry.hidden = !fits;
      shown += fits;
    }
    document.getElementById("count").textContent = shown + " of " + entries.length + " models";
  };
  form.addEventListener("input", apply);
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("all").addEventListener("click", (event) => {
    const open = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(open));
    event.currentTarget.textContent = open ? "Close all" : "Open all";
    for (const entry of entries) entry.querySelector("details").open = open;
  });
  const follow = () => {
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* an address that somebody has cut off */ }
    const target = name && document.getElementById(name);
    if (target && target.matches("article")) target.querySelector("details").open = true;
  };
  addEventListener("hashchange", follow);
  follow();
  apply();
})();
