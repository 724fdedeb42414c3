// The questions of a lesson that was saved as a file. The file contains every answer, so it makes no requests. offline.js appends
// readNumber of number.js.
"use strict";
const ATTEMPTS = 2;

function toFragment(tree) {
  const box = document.createDocumentFragment();
  for (const part of tree) {
    if (typeof part === "string") { box.append(part); continue; }
    const away = part[1].href?.startsWith("/"), one = document.createElement(away ? "span" : part[0]);  // the link does not work in a file
    for (const [key, value] of Object.entries(part[1])) if (!away) one.setAttribute(key, value);
    one.append(toFragment(part[2]));
    box.append(one);
  }
  return box;
}

const QUESTIONS = ["predict", "choice", "number", "find", "click", "say", "share"], done = new Set();

/** Show the lesson up to the first open question; later parts would give its answer away. */
function advance() {
  const parts = [...document.body.children], open = parts.findIndex((one) => QUESTIONS.includes(one.dataset.kind) && !done.has(one.id));
  parts.forEach((one, i) => { one.hidden = open >= 0 && i > open; });
}

function goOnButton(section) {
  const button = document.createElement("button");
  button.textContent = "Go on";
  button.lang = "en";
  button.addEventListener("click", () => { done.add(section.id); button.remove(); advance(); });
  return button;
}

for (const section of document.querySelectorAll("section[data-kind]")) {
  const { kind } = section.dataset;
  const key = JSON.parse(section.dataset.key);
  const said = section.querySelector(".said");
  const view = section.querySelector(".view");
  const inputs = [...section.querySelectorAll("input, textarea")];
  let attempts = 0;
  const line = (...parts) => { const p = document.createElement("p"); p.append(...parts); said.append(p); };
  const show = (right, text = [], answer = []) => {
    said.replaceChildren();
    const done = right !== false || attempts >= ATTEMPTS || kind === "predict";
    if (kind === "predict") line(right ? "As you guessed: " : "Not as you guessed: ", toFragment(answer));
    else if (right !== null) line(right ? "Right." : done ? "Not quite." : "Not yet.");
    if (text.length) line(toFragment(text));
    if (done && !right && kind !== "predict" && answer.length) line("Answer: ", toFragment(answer));
    if (done && key.after) line(toFragment(key.after));
    if (done && view) view.hidden = false;
    if (done) for (const one of section.querySelectorAll("input, .check, [data-token]")) one.disabled = true;
  };
  const check = {
    predict: () => choose(), choice: () => choose(),
    number: () => {
      const x = readNumber(inputs[0].value, key.key, key.percent);
      if (x === null) { said.textContent = "Type a number, such as 0.13 or 13 %."; return; }
      attempts += 1;
      const right = Math.abs(x - key.key) <= key.tolerance + 1e-12;
      const range = key.ranges.find(([low, high]) => (low === null || x >= low) && (high === null || x <= high));
      show(right, right ? [] : range ? range[2] : [x < key.key ? "Too low." : "Too high."], [key.answer]);
    },
    share: () => {
      const points = inputs.map((one) => Number(one.value) || 0);
      if (points.reduce((sum, one) => sum + one, 0) !== 100) { said.textContent = "Share out exactly 100 points."; return; }
      const overlap = key.shares.reduce((sum, share, i) => sum + Math.min(share, points[i] / 100), 0);
      show(null, [
        `${Math.round(100 * overlap)} of your 100 points are where BERT puts them: ${key.shares.map((share) => `${Math.round(100 * share)} %`).join(", ")}.`,
      ]);
    },
    say: () => {
      said.replaceChildren();
      line("A model answer: ", toFragment(key.answer));
      line("Does yours do this, too?");
      for (const one of key.criteria) line("☐ ", toFragment(one));
    },
    find: () => {
      said.replaceChildren();
      if (key.hint?.length) line(toFragment(key.hint));
      if (key.example.length) line("One that works: ", toFragment(key.example));
      if (key.after?.length) line(toFragment(key.after));
      line("To try texts of your own, open the lesson in BERT Explorer.");
    },
  };
  const choose = () => {
    const at = inputs.findIndex((one) => one.checked);
    if (at < 0) { said.textContent = "Choose one first."; return; }
    attempts += 1;
    show(at === key.key, key.feedback[at], [inputs[key.key].parentElement.textContent.trim()]);
  };
  if (key.problem) { said.textContent = `Not on this checkpoint: ${key.problem}`; done.add(section.id); continue; }
  if (kind === "claim") { line(key.holds ? "Measured: " : "Not on this checkpoint: ", toFragment(key.text)); continue; }
  if (kind === "click") {
    section.append(goOnButton(section));
    const captions = section.querySelectorAll(".view figcaption");
    captions.forEach((one) => { one.hidden = true; });  // they may say what to press
    for (const button of section.querySelectorAll("[data-token]"))
      button.addEventListener("click", () => {
        const right = key.right.includes(button.dataset.token);
        attempts += 1;
        captions.forEach((one) => { one.hidden = !right && attempts < ATTEMPTS; });
        show(right, right || attempts >= ATTEMPTS ? [] : key.hint, [key.right.join(", ")]);
      });
    continue;
  }
  if (!check[kind]) continue;
  if (view && kind !== "find") view.hidden = true;  // until there is a guess
  section.append(goOnButton(section));
  const button = document.createElement("button");
  button.textContent = kind === "predict" ? "Lock in my guess"
    : kind === "find" ? "Show a hint"
    : kind === "say" ? "Compare with a model answer"
    : "Check";
  Object.assign(button, { className: "check", lang: "en" });
  button.addEventListener("click", check[kind]);
  said.before(button);
}
advance();
