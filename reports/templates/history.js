requestAnimationFrame(() => setTimeout(() => {
  const section = document.getElementById("cases");
  const form = section.querySelector("form");
  const { families, verdicts, ends, strips, runs, cases } = JSON.parse(document.getElementById("data").textContent);
  const bad = new Set(["fail", "crash", "device_lost", "timeout", "flaky", "error"]);
  const changed = strips.map((strip) => new Set(strip.filter((end) => end >= 0)).size > 1);
  const failing = strips.map((strip) => strip.at(-1) >= 0 && bad.has(verdicts[ends[strip.at(-1)][0]][0]));
  const words = strips.map((strip) => [...new Set(strip)].filter((end) => end >= 0).map((end) => ends[end].slice(1).join(" ")).join(" ").toLowerCase());
  [...families].sort().forEach((family) => form.elements.family.add(new Option(family, family)));

  function select({ words: text, show, family }) {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    const ofFamily = families.indexOf(family);
    return cases.filter(([place, labels, strip]) => {
      if (family && place !== ofFamily) return false;
      if (show === "changed" && !changed[strip]) return false;
      if (show === "failing" && !failing[strip]) return false;
      if (!wanted.length) return true;
      const id = (families[place] + labels).toLowerCase();
      return wanted.every((word) => id.includes(word) || words[strip].includes(word));
    });
  }

  const badge = (end, parent) => {
    const [value, label, mark] = verdicts[ends[end][0]];
    return made("span", `badge ${value}`, `${mark} ${label}`, parent);
  };

  function wholeHistory(strip, parent) {
    const body = made("tbody", "", "", made("table", "", "", parent));
    strips[strip].forEach((end, place) => {
      const [name, started, driver] = runs[place];
      const row = made("tr", "", "", body);
      made("td", "n", String(place + 1), row);
      made("td", "", started.replace("T", " ").replace("Z", ""), row);
      made("td", "", name, row);
      made("td", "", driver, row);
      const verdict = made("td", "", "", row);
      if (end < 0) made("span", "soft", "not judged", verdict); else badge(end, verdict);
      made("code", "", end < 0 ? "" : ends[end][2] || ends[end][1], made("td", "", "", row));
    });
  }

  function draw([family, labels, strip], alone) {
    const row = made("tr");
    const fold = made("details", "", "", made("td", "", "", row));
    breakable(made("summary", "id", "", fold), families[family] + labels);
    fold.addEventListener("toggle", () => fold.open && fold.children.length === 1 && wholeHistory(strip, fold));
    fold.open = alone;
    const marks = made("td", "marks", "", row);
    strips[strip].forEach((end, place) => {
      const [value, label, mark] = end < 0 ? ["zero", "not judged", "·"] : verdicts[ends[end][0]];
      const one = made("span", `badge ${value}`, mark, marks);
      one.title = `${place + 1}: ${runs[place][0]}: ${label}`;
    });
    return row;
  }

  pagedList(section, select, draw, "cases");
  section.dataset.ready = performance.now().toFixed(0);
}));
