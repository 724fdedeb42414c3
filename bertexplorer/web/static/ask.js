// A question for a class about the view on the screen: the server suggests it, and the teacher edits it and opens the class.
import { ask } from "./backend.js";
import { h } from "./kit.js";

/** Ask the class about the view *link*. */
export async function askClass(link) {
  const problem = h("p", { class: "message error", role: "alert", hidden: true });
  const fail = (words) => {
    problem.textContent = words;
    problem.hidden = false;
  };
  const prompt = h("textarea", { id: "ask-prompt", rows: 6, required: true }),
    choices = h("textarea", { id: "ask-choices", rows: 7 });
  const open = async (event) => {
    event.preventDefault();
    const lines = choices.value
      .split("\n")
      .map((one) => one.trim())
      .filter(Boolean);
    const { status, answer } = await ask("class", {
      body: { question: { prompt: prompt.value, choices: lines, link } },
    });
    if (status === 200) location.href = `learn?class=${answer.code}`;
    else fail(answer.detail);
  };
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const dialog = h(
    "dialog",
    { id: "ask", "aria-labelledby": "ask-title", onclose: () => dialog.remove() },
    h(
      "form",
      { onsubmit: open },
      h("h2", { id: "ask-title" }, "Ask the class"),
      h(
        "p",
        {},
        "Phones vote first; then BERT answers. Write one choice on each line; without choices, phones ask for a number.",
      ),
      h("label", { for: "ask-prompt" }, "Question"),
      prompt,
      h("label", { for: "ask-choices" }, "Choices"),
      choices,
      problem,
      h("div", { class: "row" }, close, h("button", { class: "go" }, "Open the class")),
    ),
  );
  document.querySelector("bx-explore").append(dialog);
  dialog.showModal();
  const { status, answer } = await ask("class/suggest", { body: { link } });
  if (status !== 200) {
    fail(answer.detail);
    return;
  }
  prompt.value = answer.prompt;
  if (!answer.prompt) prompt.placeholder = "Write a question about this view.";
  choices.value = answer.choices.join("\n");
}
