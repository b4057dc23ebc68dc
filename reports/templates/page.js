"use strict";
// Functions of every page: copying, keys, links to sections, and folds that open when a link leads into them.
const made = (name, className, text, parent) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  parent?.append(element);
  return element;
};

/* An id may wrap before a parameter. */
const breakable = (element, id) => {
  for (const part of id.split(/(?<=[/[])/)) element.append(part, made("wbr"));
  element.dataset.line = id;
  return element;
};

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Some browsers do not give a page from a file access to the clipboard.
    const field = made("textarea", "", "", document.body);
    field.value = text;
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

function copyButton(text, label, parent) {
  const button = made("button", "copy", label, parent);
  button.type = "button";
  button.addEventListener("click", async () => {
    await copy(typeof text === "function" ? text() : text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1200);
  });
  return button;
}

for (const element of document.querySelectorAll("[data-copy]")) {
  const text = element.textContent.trim();
  element.dataset.copy = text;
  if (element.tagName !== "PRE") {
    copyButton(text, "Copy", element).title = "Copy the id (key: c)";
    continue;
  }
  const box = made("div", "copyable");
  element.replaceWith(box);
  box.append(element);
  copyButton(text, "Copy", box);
}

for (const heading of document.querySelectorAll("section[id] > h2, article[id] > h3, h3[id]")) {
  const link = made("a", "anchor", "#", heading);
  link.href = `#${heading.id || heading.parentElement.id}`;
  link.setAttribute("aria-label", "Link to this part");
}

function openFolds() {
  const target = document.querySelector(":target");
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", openFolds);
openFolds();

(() => {
  const KEYS = {
    "/": "search all cases",
    j: "next page of a case, or next line of a list",
    k: "previous page of a case, or previous line of a list",
    c: "copy the case's id",
    e: "unfold or fold everything",
    u: "all results",
    "?": "show or hide the keys",
  };
  const dialog = made("dialog", "keys", "", document.body);
  made("h2", "", "Keys", dialog);
  const list = made("dl", "facts", "", dialog);
  for (const [key, meaning] of Object.entries(KEYS)) {
    made("kbd", "", key, made("dt", "", "", list));
    made("dd", "", meaning, list);
  }
  dialog.addEventListener("click", () => dialog.close());

  function step(direction) {
    const page = document.querySelector(`a[rel=${direction > 0 ? "next" : "prev"}]`);
    if (page) return page.click();
    const lines = [...document.querySelectorAll("[data-line]")].filter((line) => line.offsetParent);
    const place = lines.indexOf(document.activeElement) + direction;
    const line = lines[Math.max(0, Math.min(place, lines.length - 1))];
    line?.focus();
    line?.scrollIntoView({ block: "nearest" });
  }

  function search() {
    const field = document.querySelector("input[type=search]");
    if (!field) return document.querySelector("a[rel=up]")?.click();
    field.focus();
    field.select();
    field.closest("section").scrollIntoView();
  }

  function fold() {
    const folds = [...document.querySelectorAll("main details")];
    const open = folds.some((one) => !one.open);
    for (const one of folds) one.open = open;
  }

  const actions = {
    "/": search,
    j: () => step(1),
    k: () => step(-1),
    c: () => {
      const shown = document.activeElement.closest?.("[data-line]")?.dataset.line;
      if (shown) copy(shown); else document.querySelector("h1[data-copy] .copy")?.click();
    },
    e: fold,
    u: () => document.querySelector("a[rel=up]")?.click(),
    "?": () => (dialog.open ? dialog.close() : dialog.showModal()),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
})();
