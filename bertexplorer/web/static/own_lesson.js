// The form to upload a lesson of one's own, which is checked before its address can be shared.
import { sendFile } from "./backend.js";
import { h } from "./kit.js";

/** What the check of a lesson evaluated: where it stands, and the answer or what its author has to mend.
 *  @typedef {{ line: number, block: string, text: string, wrong: boolean }} Checked */

export class OwnLesson {
  /** @type {{ slug: string, checked: Checked[] } | undefined} */
  uploaded; // the lesson that was uploaded here last

  /** *checkpoint*: the one that answers, "" for the page's, *usual*; *address*: of a lesson; *open* opens one, *replace* in
   *  place of what is shown.
   *  @param {{ checkpoint: string, usual: string, address: (slug: string) => string,
   *    open: (slug: string, event: MouseEvent) => void, replace: (slug: string) => void }} page */
  constructor(page) {
    this.page = page;
  }

  /** The form. With *slug*, it stays beside that lesson, with what its check found; a changed file takes the lesson's place.
   *  @param {string} slug */
  form(slug = "") {
    const problem = h("p", { class: "message error", role: "alert", hidden: true });
    const said = h("p", { class: "hint", role: "status" });
    const found = h("div");
    const report = h("div", { id: "own-report" }, said, found);
    const file = h("input", {
      type: "file",
      id: "own-lesson",
      accept: ".md,.markdown,.txt",
      onchange: async () => {
        if (!file.files.length) return;
        problem.hidden = true;
        file.disabled = true;
        said.textContent = "Checking everything that the lesson asserts…";
        found.replaceChildren();
        const { status, answer } = await this.#check(file.files[0], said);
        file.disabled = false;
        file.value = "";
        if (status !== 200) {
          said.textContent = "";
          problem.textContent = answer.detail;
          problem.hidden = false;
          return;
        }
        this.uploaded = answer;
        if (!slug || slug === answer.slug) this.#report(said, found, slug);
        else this.page.replace(answer.slug);
      },
    });
    if (slug) {
      this.#report(said, found, slug);
      return h(
        "details",
        { class: "sources checking", open: true },
        h("summary", {}, "The check of your lesson"),
        h("label", { for: "own-lesson" }, "Its file, after a change "),
        file,
        problem,
        report,
      );
    }
    return h(
      "details",
      { class: "sources" },
      h("summary", {}, "A lesson of your own"),
      h("p", {}, "A lesson is a Markdown file. The documentation describes its format."),
      h("label", { for: "own-lesson" }, "Its file "),
      file,
      problem,
      report,
    );
  }

  /** Upload the *file* and have it checked. *said* tells how far that is.
   *  @param {File} file
   *  @param {HTMLElement} said */
  #check(file, said) {
    const { checkpoint } = this.page;
    const tell = (/** @type {any} */ { notice, place }) => {
      if (notice) said.textContent = notice;
      else if (place) said.textContent = `Number ${place} in line to be checked.`;
    };
    return sendFile(`lessons/own?${new URLSearchParams({ checkpoint })}`, file, tell);
  }

  /** What the check of the uploaded lesson found, first what its author has to mend, and the way to it unless it is the
   *  lesson *shown*.
   *  @param {HTMLElement} said
   *  @param {HTMLElement} found
   *  @param {string} shown */
  #report(said, found, shown) {
    if (!this.uploaded) return;
    const { slug, checked } = this.uploaded;
    const wrong = checked.filter((one) => one.wrong);
    const right = checked.filter((one) => !one.wrong);
    const now = this.page.checkpoint || this.page.usual;
    const parts = [];
    if (wrong.length) {
      const things = wrong.length === 1 ? "is one thing" : `are ${wrong.length} things`;
      said.textContent = `On ${now} there ${things} to mend. Change the file and choose it again.`;
      parts.push(h("div", { class: "problems" }, list(wrong)));
    } else {
      said.textContent = `Everything that the lesson asserts holds on ${now}. Share the address of the lesson.`;
    }
    if (right.length) {
      const title = h("summary", {}, "What was evaluated, with the answers");
      parts.push(h("details", {}, title, list(right)));
    }
    if (slug !== shown) {
      const look = { class: wrong.length ? "quiet" : "go", href: this.page.address(slug) };
      const onclick = (/** @type {MouseEvent} */ event) => this.page.open(slug, event);
      const words = wrong.length ? "Open it as it is" : "Open the lesson";
      parts.push(h("p", {}, h("a", { ...look, onclick }, words)));
    }
    found.replaceChildren(...parts);
  }
}

/** @param {Checked[]} lines */
function list(lines) {
  const items = lines.map(({ line, block, text }) =>
    h("li", {}, `Line ${line}${block && `, ${block}`}: ${text}`),
  );
  return h("ul", { translate: "no" }, items);
}
