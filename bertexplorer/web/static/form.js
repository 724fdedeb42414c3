// <bx-form>: the settings of a view or of a run, drawn from their schema; fires "set" with {name, value, soon}, where *soon* means
// that further changes may follow at once. With the attribute data-plain, numbers are typed.
import { h } from "./kit.js";

/** @import { Setting } from "./types.d.ts" */

const VISIBLE = 3; // visible settings; further ones are folded
const MAX_RADIOS = 4; // choices side by side; more become a drop-down
const MAX_SLIDER_STEPS = 10_000; // values of a slider; larger ranges become a text field
const LAST = -1; // the last layer, however many there are

class Form extends HTMLElement {
  #fields = new Map(); // name -> {set, end}

  /** Draw the *settings* of the view *name*, unless they are drawn already.
   *  @param {string} name
   *  @param {Setting[]} settings */
  draw(name, settings) {
    if (this.dataset.view === name) return;
    this.dataset.view = name;
    this.#fields.clear();
    const shown = settings.filter((one) => !one.by_page).map((one) => this.#field(one));
    const cut = shown.length <= VISIBLE + 1 ? shown.length : VISIBLE;
    const more = shown.slice(cut);
    this.replaceChildren(
      h("div", { class: "options" }, shown.slice(0, cut)),
      more.length
        ? h(
            "details",
            { class: "more" },
            h("summary", {}, "More options"),
            h("div", { class: "options" }, more),
          )
        : "",
    );
  }

  /** Show *values*, name -> value; settings that count layers or heads end at *counts*. */
  fill(values, counts = {}) {
    for (const [name, { set, end, counted }] of this.#fields) {
      if (counted in counts) end(counts[counted]);
      if (name in values) set(values[name]);
    }
  }

  #field(setting) {
    const id = `${this.dataset.prefix ?? ""}set-${this.dataset.view}-${setting.name}`;
    const help = setting.help ? h("small", { id: `${id}-help` }, setting.help) : null;
    const about = {
      id,
      "data-setting": setting.name,
      "aria-describedby": help ? `${id}-help` : null,
    };
    const tell = (value, soon = false) =>
      this.dispatchEvent(new CustomEvent("set", { detail: { name: setting.name, value, soon } }));
    const field = this.#control(setting, about, tell);
    this.#fields.set(setting.name, { end: () => {}, ...field, counted: setting.counts || " " });
    if (field.group) {
      return h(
        "fieldset",
        { class: "setting", "aria-describedby": about["aria-describedby"] },
        h("legend", {}, setting.label),
        field.control,
        help,
      );
    }
    if (setting.kind === "bool")
      return h(
        "div",
        { class: "setting check" },
        h("label", {}, field.control, " ", setting.label),
        help,
      );
    return h(
      "div",
      { class: "setting" },
      h("label", { for: id }, setting.label, field.beside ? [" ", field.beside] : null),
      field.control,
      help,
    );
  }

  #control(setting, about, tell) {
    const { choices, kind, low, high } = setting,
      bounded = kind === "int" && low !== null && high !== null;
    if (choices.length > MAX_RADIOS)
      return select(
        choices.map((one) => [one, one]),
        about,
        tell,
        String,
      );
    if (choices.length) return radios(choices, about, tell);
    if (kind === "bool") {
      const control = h("input", {
        ...about,
        type: "checkbox",
        onchange: () => tell(control.checked),
      });
      return {
        control,
        set: (value) => {
          control.checked = value;
        },
      };
    }
    if (setting.counts === "layers" && low === LAST) return layers(high, about, tell);
    if (bounded && this.dataset.plain === undefined && high - low <= MAX_SLIDER_STEPS)
      return slider(setting, about, tell);
    const number = kind !== "str";
    const value = () =>
      number && control.value.trim() !== "" && Number.isFinite(Number(control.value))
        ? Number(control.value)
        : control.value;
    const listeners = { oninput: () => tell(value(), true) };
    const control = setting.several
      ? h("textarea", { ...about, rows: 3, ...listeners })
      : h("input", { ...about, type: "text", inputmode: number ? "decimal" : null, ...listeners });
    return {
      control,
      set: (given) => {
        if (String(given) !== control.value && value() !== given) control.value = given;
      },
    };
  }
}

function select(choices, about, tell, read) {
  const control = h("select", { ...about, onchange: () => tell(read(control.value)) });
  const fill = (all) =>
    control.replaceChildren(...all.map(([words, value]) => h("option", { value }, words)));
  fill(choices);
  return {
    control,
    fill,
    set: (value) => {
      control.value = value;
    },
  };
}

function layers(high, about, tell) {
  const field = select([], about, tell, Number);
  let value = LAST;
  const end = (last) => {
    if (field.control.options.length === last + 2) return;
    const numbers = Array.from({ length: last }, (_, i) => [String(i + 1), i + 1]);
    field.fill([["the last", LAST], ["0, the input of the first", 0], ...numbers]);
    field.set(value);
  };
  end(high);
  return {
    ...field,
    end,
    set: (given) => {
      value = given;
      field.set(given);
    },
  };
}

function radios(choices, about, tell) {
  const control = h(
    "div",
    { class: "choices", id: about.id, "data-setting": about["data-setting"] },
    choices.map((one) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: about.id,
          value: one,
          onchange: () => tell(one),
        }),
        " ",
        one,
      ),
    ),
  );
  return {
    control,
    group: true,
    set: (value) => {
      for (const one of control.querySelectorAll("input")) one.checked = one.value === value;
    },
  };
}

function slider({ low, high }, about, tell) {
  const beside = h("output", { for: about.id });
  let most = high; // a value beyond it is shown all the same, so that each smaller one can be chosen
  const show = () => {
    const words = Number(control.value).toLocaleString("en");
    if (beside.textContent !== words) beside.textContent = words;
  };
  const control = h("input", {
    ...about,
    type: "range",
    min: low,
    max: high,
    step: 1,
    oninput: () => {
      show();
      tell(Number(control.value), true);
    },
  });
  const set = (value) => {
    const end = String(value > most ? value : most);
    if (control.max !== end) control.max = end;
    if (control.value !== String(value)) control.value = value;
    show();
  };
  return {
    control,
    beside,
    set,
    end: (last) => {
      most = Math.min(high, last);
    },
  };
}
customElements.define("bx-form", Form);
