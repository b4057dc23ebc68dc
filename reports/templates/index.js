// The table of all cases is long, so it is read only after the page is shown.
requestAnimationFrame(() => setTimeout(() => {
  const section = document.getElementById("cases");
  const form = section.querySelector("form");
  const { families, verdicts, columns, ends, requirements, cases } = JSON.parse(document.getElementById("data").textContent);
  const words = ends.map((texts) => texts.join(" ").toLowerCase());
  const ids = families.map((family) => family.toLowerCase());

  const option = (name, value, text) => form.elements[name].add(new Option(text, value));
  const occur = new Set(cases.map((row) => row[2]));
  verdicts.forEach(([value, label], place) => occur.has(place) && option("verdict", value, label));
  [...families].sort().forEach((family) => option("family", family, family));
  [...new Set(requirements.flat())].sort().forEach((id) => option("requirement", id, id));

  function select({ words: text, verdict, family, requirement, order }) {
    // Words between quotation marks count as one word.
    const wanted = [...text.toLowerCase().matchAll(/"([^"]+)"|[^\s"]+/g)].map(([word, phrase]) => phrase ?? word);
    const sets = requirements.map((each) => !requirement || each.includes(requirement));
    const ofVerdict = verdicts.findIndex(([value]) => value === verdict);
    const ofFamily = families.indexOf(family);
    const found = cases.filter((row) => {
      if (verdict && row[2] !== ofVerdict) return false;
      if (family && row[0] !== ofFamily) return false;
      if (!sets[row[5]]) return false;
      if (!wanted.length) return true;
      const id = ids[row[0]] + row[1].toLowerCase();
      return wanted.every((word) => id.includes(word) || words[row[4]].includes(word));
    });
    const column = columns.findIndex(([key]) => key === order);
    if (column >= 0) found.sort((left, right) => left[3][column] - right[3][column]);
    if (order === "verdict") found.sort((left, right) => left[2] - right[2]);
    return found;
  }

  function draw([family, labels, verdict, ranks, end, , page]) {
    const row = made("tr");
    const name = made("th", "", "", row);
    name.scope = "row";
    const id = breakable(made(page ? "a" : "span", "id", "", name), families[family] + labels);
    if (page) id.href = page; else id.tabIndex = -1;
    const [reason, code, known] = ends[end];
    if (reason) {
      const why = made("div", "soft", reason, name);
      if (code && verdicts[verdict][0] !== "not_supported") made("code", "", code, (why.append(" "), why));
      if (known) made("code", "", known, (why.append(" "), why));
    }
    const [value, label, mark] = verdicts[verdict];
    made("span", `badge ${value}`, `${mark} ${label}`, made("td", "", "", row));
    columns.forEach(([, title, number, texts], column) => {
      const text = texts[ranks[column]];
      const cell = made("td", number ? "n" : "", text, row);
      if (text) cell.dataset.label = title;
    });
    return row;
  }

  pagedList(section, select, draw, "cases");
  section.dataset.ready = performance.now().toFixed(0);
}));
