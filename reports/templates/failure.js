"use strict";
for (const figure of document.querySelectorAll("figure")) {
  const drawing = figure.querySelector("svg");
  const make = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [row, column, expected, got] of JSON.parse(figure.querySelector("script").textContent)) {
    const element = make("rect");
    element.setAttribute("x", column);
    element.setAttribute("y", row);
    element.append(make("title"));
    element.firstChild.textContent = `row ${row}, column ${column}: expected ${expected}, got ${got}`;
    drawing.append(element);
  }
  figure.addEventListener("pointerover", ({ target }) => {
    const title = target.querySelector?.("title");
    if (title) figure.querySelector(".readout").textContent = title.textContent;
  });
}
