// The cards of lessons and lectures in the list of the page Learn.
import { h, render } from "./kit.js";

/** A card of a lesson, which leads to it. *records*: what was answered in it; *to*: what a link to it needs.
 *  @param {any} lesson
 *  @param {Record<string, any>} records
 *  @param {{ href: string, onclick: (event: MouseEvent) => void }} to */
export function lessonCard(lesson, records, to) {
  const done = Object.values(records).filter((one) => one.said?.done).length;
  let progress = "";
  if (done) {
    progress = done >= lesson.questions ? "Done" : `${done} of ${lesson.questions} answered`;
  }
  const link = h(
    "a",
    { class: "lesson-card", ...to },
    h("strong", {}, lesson.title),
    h("span", { class: "asks" }, render(lesson.question)),
    h("span", { class: "hint" }, ...aboutLesson(lesson)),
    progress && h("span", { class: "progress" }, progress),
  );
  return h("li", {}, link);
}

/** A card of a lecture.
 *  @param {any} lecture
 *  @param {string} href */
export function lectureCard({ title, minutes, can, votes }, href) {
  let details = `${minutes} minutes`;
  if (votes) details += `, ${votes} ${votes === 1 ? "vote" : "votes"} of the class`;
  const link = h(
    "a",
    { class: "lesson-card", href },
    h("strong", {}, title),
    h("span", { class: "hint" }, `${details}. Afterwards the class can `, ...render(can), "."),
  );
  return h("li", {}, link);
}

/** The duration of a lesson, and what one learns. Either may be missing in a teacher's lesson.
 *  @param {any} lesson */
export function aboutLesson({ minutes, can, language }) {
  const isEnglish = language === "en";
  const words = [];
  if (minutes) words.push(`${minutes} ${isEnglish ? "minutes. " : "min · "}`);
  if (can.length) {
    if (isEnglish) words.push("Afterwards you can ", ...render(can), ".");
    else words.push(...render(can));
  }
  return words;
}
