"use strict";
(() => {
  const PAGE = 50;
  const section = document.getElementById("cases");
  const form = section.querySelector("form");
  const body = section.querySelector("tbody");
  const [back, forward] = section.querySelectorAll(".pager button");
  const position = section.querySelector(".pager span");
  const { families, verdicts, reasons, requirements, cases } = JSON.parse(document.getElementById("data").textContent);
  let found = cases;
  let first = 0;

  function option(name, value, text) {
    form.elements[name].add(new Option(text, value));
  }
  verdicts.forEach(([value, label], place) => cases.some((row) => row[2] === place) && option("verdict", value, label));
  [...families].sort().forEach((family) => option("family", family, family));
  [...new Set(requirements.flat())].sort().forEach((id) => option("requirement", id, id));

  function select() {
    const { words, verdict, family, requirement, order } = Object.fromEntries(new FormData(form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const sets = requirements.map((ids) => !requirement || ids.includes(requirement));
    const lower = reasons.map((reason) => reason.toLowerCase());
    found = cases.filter((row) => {
      if (verdict && verdicts[row[2]][0] !== verdict) return false;
      if (family && families[row[0]] !== family) return false;
      if (!sets[row[5]]) return false;
      if (!wanted.length) return true;
      const text = `${families[row[0]]}${row[1]} `.toLowerCase();
      return wanted.every((word) => text.includes(word) || lower[row[4]].includes(word));
    });
    if (order === "time") found = [...found].sort((left, right) => right[3] - left[3]);
    first = 0;
    show();
  }

  function element(name, className, text, parent) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    parent.append(made);
    return made;
  }

  function show() {
    const rows = document.createDocumentFragment();
    for (const [family, labels, verdict, time, reason, , page] of found.slice(first, first + PAGE)) {
      const row = element("tr", "", "", rows);
      const name = element("th", "", "", row);
      name.scope = "row";
      const id = element(page ? "a" : "span", "id", families[family] + labels, name);
      if (page) id.href = page;
      if (reasons[reason]) element("div", "soft", reasons[reason], name);
      const [value, label, mark] = verdicts[verdict];
      element("span", `badge ${value}`, `${mark} ${label}`, element("td", "", "", row));
      element("td", "n", time < 1000 ? `${time.toFixed(1)} ms` : `${(time / 1000).toFixed(1)} s`, row);
    }
    body.replaceChildren(rows);
    const last = Math.min(first + PAGE, found.length);
    const count = (number) => number.toLocaleString("en");
    position.textContent = found.length ? `${count(first + 1)} to ${count(last)} of ${count(found.length)} cases` : "No case fits.";
    back.disabled = first === 0;
    forward.disabled = last === found.length;
  }

  let pending;
  form.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(select, 80);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  back.addEventListener("click", () => { first -= PAGE; show(); });
  forward.addEventListener("click", () => { first += PAGE; show(); });
  document.addEventListener("click", (event) => {
    const pick = event.target.closest("a.pick");
    if (!pick) return;
    form.reset();
    for (const name of ["family", "verdict", "requirement"]) form.elements[name].value = pick.dataset[name] || "";
    select();
  });
  select();
})();
