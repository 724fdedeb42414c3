// The components of bertexplorer.blocks: elements of the pages inside a gr.HTML of anybody's Gradio app. Gradio's *props* hold the
// value, *watch* tells when a listener has changed it, and *trigger* fires an event.
import "./strip.js";
import "./view.js";
import { framed, inTurn, navigation, plotlyOf } from "./embedded.js";
import { loadPlotly } from "./figure.js";
import { h } from "./kit.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Show the component that *props* name in the *element* of Gradio. *page*: the schema of the views. */
export function render({ page, element, props, server, trigger, watch }) {
  const ask = inTurn(async (path, body) => {
    const reply = await server.ask({ path, body });
    if (typeof reply !== "string") throw new Error("the app does not answer");
    return JSON.parse(reply);
  });
  const component = {
    props,
    trigger,
    watch,
    ask,
    schema: { ...page, opening: { ...props.opening } },
  };
  loadPlotly(plotlyOf(ask));
  const shown = props.component === "TokenStrip" ? strip(component) : explorer(component);
  const place = element.querySelector(".bertexplorer") ?? element;
  place.replaceChildren(framed("hosted", ...shown).frame);
}

/** Make *value* that of the component, and tell the listeners. The event is not Gradio's "change", which comes with what a
 *  listener gave, perhaps a part of a value. */
function tell({ props, trigger }, value) {
  if (same(props.value, value)) return;
  props.value = value;
  trigger("changed");
}

/** A view, and for an Explorer the doors to others. */
function explorer(component) {
  const { props, schema, trigger, watch, ask } = component;
  const view = Object.assign(h("bx-view"), { schema, given: props.value, backend: ask });
  view.classList.toggle("fixed", !props.strip);
  watch("value", () => {
    if (same(props.value, view.state.now)) return;
    view.open(props.value ?? {});
  });
  view.addEventListener("filled", () => {
    if (view.getAttribute("aria-busy") !== "true") tell(component, view.state.now);
  });
  view.addEventListener("answered", async () => {
    const state = view.state.now,
      { said } = view.answer;
    const { answer } = await ask("rows", { body: { state } });
    if (!same(view.state.now, state)) return; // somebody has asked for another since
    const { title } = schema.views[state.view];
    trigger("answered", { rows: answer.rows, sentence: said, title });
  });
  return props.offered ? [navigation(view, part(schema, props.offered)), view] : [view];
}

/** The part of the *schema* with the views that are *offered*. */
function part(schema, offered) {
  const views = Object.fromEntries(offered.map((name) => [name, schema.views[name]]));
  const doors = {};
  for (const [title, door] of Object.entries(schema.doors)) {
    const behind = door.views.filter((name) => name in views);
    if (behind.length) doors[title] = { ...door, views: behind };
  }
  return { ...schema, views, doors };
}

/** A text as tokens. */
function strip(component) {
  const { props, trigger, watch, ask } = component;
  const strip = h("bx-strip"),
    problem = h("p", { class: "hint", role: "status" });
  let value = { text: "", pair: "", hidden: "", picked: "" };
  const draw = async (given) => {
    const counted = { text: value.text, pair: value.pair },
      spans = "hidden" in given || "picked" in given;
    const wanted = { ...value, ...given };
    value = wanted;
    const texts = spans ? { text: wanted.text, pair: wanted.pair } : counted;
    const { answer } = await ask("strip", {
      body: { state: { ...wanted, view: props.view }, counted_in: texts },
    });
    if (value !== wanted) return; // somebody has asked for another since
    problem.textContent = answer.detail ?? "";
    if (!answer.strip) {
      strip.clear();
      tell(component, value);
      return;
    }
    const { text, pair, hidden, picked } = answer.state;
    value = { text, pair, hidden, picked };
    strip.show(answer.strip);
    tell(component, value);
  };
  strip.addEventListener("click", (event) => {
    const chip = /** @type {HTMLElement} */ (event.target).closest("button.chip");
    if (chip instanceof HTMLElement)
      trigger("select", { token: chip.textContent, span: chip.dataset.span });
  });
  strip.addEventListener("press", ({ detail }) => {
    if (!("fill" in detail)) draw(detail);
  });
  watch("value", () => {
    if (!same(props.value, value)) draw(props.value ?? {});
  });
  draw(props.value ?? {});
  return [strip, problem];
}
