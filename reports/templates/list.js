/* A table whose rows are made when they are shown. The form of its section selects the rows, and so does the fragment of the address:
   #cases?words=f16&verdict=fail&from=51. `select` takes the form's values and returns the rows; `draw` makes one row. */
function pagedList(section, select, draw, noun, length = 50) {
  const form = section.querySelector("form");
  const body = section.querySelector("tbody");
  const [back, forward] = section.querySelectorAll(".pager button");
  const position = section.querySelector(".pager span");
  const fields = [...form.elements].filter((field) => field.name);
  const number = (value) => value.toLocaleString("en");
  let found = [];
  let first = 0;

  function show() {
    const rows = document.createDocumentFragment();
    const last = Math.min(first + length, found.length);
    for (let place = first; place < last; place += 1) rows.append(draw(found[place], last - first === 1));
    body.replaceChildren(rows);
    position.textContent = found.length ? `${number(first + 1)} to ${number(last)} of ${number(found.length)} ${noun}` : `No ${noun} match.`;
    back.disabled = first === 0;
    forward.disabled = last === found.length;
  }

  function find(from = 0) {
    found = select(Object.fromEntries(fields.map((field) => [field.name, field.value])));
    first = from < found.length ? from - (from % length) : 0;
    show();
  }

  function address() {
    const query = new URLSearchParams();
    for (const field of fields) if (field.value !== field.dataset.initial) query.set(field.name, field.value);
    if (first) query.set("from", first + 1);
    return `#${section.id}${query.size ? `?${query}` : ""}`;
  }

  function read() {
    const [place, query = ""] = location.hash.slice(1).split("?");
    if (place !== section.id) return false;
    const given = new URLSearchParams(query);
    for (const field of fields) field.value = given.get(field.name) ?? field.dataset.initial;
    find(Math.max(0, (parseInt(given.get("from"), 10) || 1) - 1));
    section.scrollIntoView();
    return true;
  }

  function turn(pages) {
    first += pages * length;
    show();
    history.replaceState(null, "", address());
    section.scrollIntoView();
  }

  for (const field of fields) field.dataset.initial = field.value;
  let pending;
  form.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      find();
      history.replaceState(null, "", address());
    }, 80);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  back.addEventListener("click", () => turn(-1));
  forward.addEventListener("click", () => turn(1));
  copyButton(() => location.href.split("#")[0] + address(), "Copy link", section.querySelector(".pager"));
  addEventListener("hashchange", read);
  if (!read()) find();
}
