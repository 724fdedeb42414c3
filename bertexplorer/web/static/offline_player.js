// The questions of a lesson that was saved as a file. The file contains every answer, so it makes no requests. offline.js puts the
// modules that are imported here before it.
import { ATTEMPTS, BUTTONS, judge, verdict } from "./grading.js";

function toFragment(tree) {
  const box = document.createDocumentFragment();
  for (const part of tree) {
    if (typeof part === "string") {
      box.append(part);
      continue;
    }
    const away = part[1].href?.startsWith("/"),
      one = document.createElement(away ? "span" : part[0]); // the link does not work in a file
    for (const [key, value] of Object.entries(part[1])) if (!away) one.setAttribute(key, value);
    one.append(toFragment(part[2]));
    box.append(one);
  }
  return box;
}

const QUESTIONS = ["predict", "choice", "number", "find", "click", "say", "share"],
  done = new Set();

/** Show the lesson up to the first open question; later parts would give its answer away. */
function advance() {
  const parts = [...document.body.children],
    open = parts.findIndex(
      (one) => QUESTIONS.includes(one.dataset.kind ?? "") && !done.has(one.id),
    );
  parts.forEach((one, i) => {
    one.hidden = open >= 0 && i > open;
  });
}

function goOnButton(section) {
  const button = document.createElement("button");
  button.textContent = "Go on";
  button.lang = "en";
  button.addEventListener("click", () => {
    done.add(section.id);
    button.remove();
    advance();
  });
  return button;
}

for (const section of document.querySelectorAll("section[data-kind]")) {
  const { kind } = section.dataset;
  const key = JSON.parse(section.dataset.key);
  const said = section.querySelector(".said");
  const view = section.querySelector(".view");
  const inputs = [...section.querySelectorAll("input, textarea")];
  let attempts = 0;
  const line = (...parts) => {
    const p = document.createElement("p");
    p.append(...parts);
    said.append(p);
  };

  /** Grade *answer*, and say what there is to say. */
  const check = (answer) => {
    const { status, answer: graded } = judge(key, answer, attempts + 1);
    if (status !== 200) {
      said.textContent = graded.detail;
      return;
    }
    attempts += 1;
    said.replaceChildren();
    const { right, text, done, after } = graded;
    const judged = verdict(kind, graded);
    if (judged) line(judged, kind === "predict" ? toFragment(graded.answer) : "");
    said.append(toFragment(text));
    const shown = kind === "click" ? [key.right.join(", ")] : graded.answer;
    if (done && right === false && kind !== "predict") line("Answer: ", toFragment(shown));
    if (graded.shares.length)
      line("BERT: ", graded.shares.map((share) => `${Math.round(100 * share)} %`).join(", "));
    if (kind === "say") {
      line("A model answer: ", toFragment(graded.answer));
      line("Does yours do this, too?");
      for (const one of graded.criteria) line("☐ ", toFragment(one));
    }
    said.append(toFragment(after));
    if (!done) return;
    if (view) view.hidden = false;
    for (const one of section.querySelectorAll("input, textarea, .check, [data-token]"))
      one.disabled = true;
  };

  /** A find cannot be graded in a file: show its hint, and one that works. */
  const hint = () => {
    said.replaceChildren();
    if (key.hint?.length) line(toFragment(key.hint));
    if (key.example.length) line("One that works: ", toFragment(key.example));
    if (key.after?.length) said.append(toFragment(key.after));
    line("To try texts of your own, open the lesson in BERT Explorer.");
  };

  const choose = () => {
    const at = inputs.findIndex((one) => one.checked);
    if (at < 0) said.textContent = "Choose one first.";
    else check(at);
  };
  const press = {
    predict: choose,
    choice: choose,
    find: hint,
    number: () => check(inputs[0].value),
    say: () => check(inputs[0].value),
    share: () => check(inputs.map((one) => Number(one.value) || 0)),
  };
  if (key.problem) {
    said.textContent = `Not on this checkpoint: ${key.problem}`;
    done.add(section.id);
    continue;
  }
  if (kind === "claim") {
    line(key.holds ? "Measured: " : "Not on this checkpoint: ", toFragment(key.text));
    continue;
  }
  if (kind === "click") {
    section.append(goOnButton(section));
    const captions = section.querySelectorAll(".view figcaption");
    captions.forEach((one) => {
      one.hidden = true;
    }); // they may say what to press
    for (const button of section.querySelectorAll("[data-token]"))
      button.addEventListener("click", () => {
        check(button.dataset.token);
        captions.forEach((one) => {
          one.hidden = attempts < ATTEMPTS && !key.right.includes(button.dataset.token);
        });
      });
    continue;
  }
  if (!press[kind]) continue;
  if (view && kind !== "find") view.hidden = true; // until there is a guess
  section.append(goOnButton(section));
  const button = document.createElement("button");
  button.textContent = kind === "find" ? "Show a hint" : BUTTONS[kind];
  Object.assign(button, { className: "check", lang: "en" });
  button.addEventListener("click", press[kind]);
  said.before(button);
}
advance();
