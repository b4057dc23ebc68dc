requestAnimationFrame(() => setTimeout(() => {
  const section = document.getElementById("cases");
  const form = section.querySelector("form");
  const { families, verdicts, ends, strips, groups, cases } = JSON.parse(document.getElementById("data").textContent);
  const bad = new Set(["fail", "crash", "device_lost", "timeout", "flaky", "error"]);
  const MOST_MARKS = 40;
  // A strip alternates between the index of an end and the number of runs that ended so.
  const spells = strips.map((strip) => strip.flatMap((end, place) => (place % 2 ? [] : [[end, strip[place + 1]]])));
  const kinds = spells.map((strip) => [...new Set(strip.map(([end]) => end))].filter((end) => end >= 0));
  const failing = spells.map((strip) => strip.at(-1)[0] >= 0 && bad.has(verdicts[ends[strip.at(-1)[0]][0]][0]));
  const words = kinds.map((found) => found.map((end) => ends[end].slice(1).join(" ")).join(" ").toLowerCase());
  [...families].sort().forEach((family) => form.elements.family.add(new Option(family, family)));
  groups.forEach(({ name }) => form.elements.device.add(new Option(name, name)));

  function select({ words: text, show, family, device }) {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    const ofFamily = families.indexOf(family);
    return cases.filter(([group, place, labels, strip]) => {
      if (family && place !== ofFamily) return false;
      if (device && groups[group].name !== device) return false;
      if (show === "changed" && kinds[strip].length < 2) return false;
      if (show === "failing" && !failing[strip]) return false;
      if (!wanted.length) return true;
      const id = (families[place] + labels).toLowerCase();
      return wanted.every((word) => id.includes(word) || words[strip].includes(word));
    });
  }

  const badge = (end, parent, text = "") => {
    const [value, label, mark] = end < 0 ? ["soft", "not judged", "·"] : verdicts[ends[end][0]];
    const one = made("span", `badge ${value}`, text || `${mark} ${label}`, parent);
    return [one, mark, label];
  };

  function wholeHistory(group, strip, parent) {
    const body = made("tbody", "", "", made("table", "", "", parent));
    let place = 0;
    spells[strip].forEach(([end, number]) => {
      const row = made("tr", "", "", body);
      const those = groups[group].runs.slice(place, place + number);
      const ranged = (of) => [...new Set([of(those[0]), of(those.at(-1))])].join(" to ");
      made("td", "n", number > 1 ? `${place + 1} to ${place + number}` : String(place + 1), row);
      made("td", "", ranged(([, started]) => started.replace("T", " ").replace("Z", "")), row);
      made("td", "", ranged(([name]) => name), row);
      made("td", "", ranged(([, , driver]) => driver), row);
      const verdict = made("td", "", "", row);
      if (end < 0) made("span", "soft", "not judged", verdict); else badge(end, verdict);
      made("code", "", end < 0 ? "" : ends[end][2] || ends[end][1], made("td", "", "", row));
      place += number;
    });
  }

  function draw([group, family, labels, strip], alone) {
    const row = made("tr");
    const cell = made("td", "", "", row);
    if (groups.length > 1) made("div", "soft", groups[group].name, cell);
    const fold = made("details", "", "", cell);
    breakable(made("summary", "id", "", fold), families[family] + labels);
    fold.addEventListener("toggle", () => fold.open && fold.children.length === 1 && wholeHistory(group, strip, fold));
    fold.open = alone;
    const marks = made("td", "marks", "", row);
    const apart = groups[group].runs.length <= MOST_MARKS;
    let place = 0;
    spells[strip].forEach(([end, number]) => {
      for (const length of apart ? Array(number).fill(1) : [number]) {
        const [one, mark, label] = badge(end, marks, " ");
        one.textContent = length > 1 ? `${mark} ${length}` : mark;
        one.title = `${length > 1 ? `${place + 1} to ${place + length}` : `${place + 1}: ${groups[group].runs[place][0]}`}: ${label}`;
        place += length;
      }
    });
    return row;
  }

  pagedList(section, select, draw, "cases");
  section.dataset.ready = performance.now().toFixed(0);
}));
