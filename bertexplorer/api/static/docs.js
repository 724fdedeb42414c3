// The API's page: openapi.json as a list of addresses with their fields, bounds and examples. All text is inserted as text.

const METHODS = ["get", "post", "delete"];

/** An element with attributes and children; a string becomes text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Follow the $ref of a schema. */
function resolve(spec, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? (spec.components.schemas[name] ?? {}) : (schema ?? {});
}

/** Describe the values that a field accepts. */
function kind(spec, given) {
  const schema = resolve(spec, given);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(", ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map((one) => kind(spec, one)).join(" or ");
  if (schema.type === "array") return `list of ${kind(spec, schema.items ?? {})}`;
  const names = { integer: "whole number", string: "text", boolean: "true or false", null: "null" };
  const words = [names[schema.type] ?? schema.type ?? "anything"];
  if ("minimum" in schema && "maximum" in schema)
    words.push(`from ${schema.minimum} to ${schema.maximum}`);
  else if ("minimum" in schema) words.push(`from ${schema.minimum}`);
  else if ("maximum" in schema) words.push(`up to ${schema.maximum}`);
  if ("maxLength" in schema)
    words.push(`up to ${schema.maxLength.toLocaleString("en")} characters`);
  const inside = Object.keys(schema.properties ?? {});
  if (inside.length)
    words.push(inside.length < 5 ? `with ${inside.join(", ")}` : "with the fields below");
  return words.join(" ");
}

/** The fields of an object as a table. */
function table(spec, schema, caption) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, given]) => {
    const needed = schema.required?.includes(name);
    const preset = given.default ?? "";
    const start = !["", "[]", "{}"].includes(preset === "" ? "" : JSON.stringify(preset))
      ? `; default ${JSON.stringify(preset)}`
      : "";
    const words = [given.title, given.description].filter(
      (one, i) => one && (i || one.toLowerCase() !== name),
    );
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, name)),
      make("td", { class: "kind" }, `${kind(spec, given)}${needed ? "; needed" : start}`),
      make("td", {}, words.join(": ")),
    );
  });
  return make(
    "div",
    { class: "scroll" },
    make("table", {}, make("caption", {}, caption), make("tbody", {}, ...rows)),
  );
}

/** The tables of a body, or of each of its variants, and of the objects nested in it. */
function bodies(spec, schema, caption) {
  const found = resolve(spec, schema);
  if (found.oneOf) {
    return found.oneOf.map((one) => {
      const name = one.$ref.split("/").pop();
      return make("details", {}, make("summary", {}, name), ...bodies(spec, one, caption));
    });
  }
  if (!found.properties) return [];
  const inner = Object.entries(found.properties).filter(
    ([, given]) => given.$ref && resolve(spec, given).properties,
  );
  return [
    table(spec, found, caption),
    ...inner.flatMap(([name, given]) => bodies(spec, given, name)),
  ];
}

/** A command that calls the operation. */
function command(path, method, body) {
  const address = new URL(path, location.href).href;
  if (method === "get") return `curl ${address}`;
  if (method === "delete") return `curl -X DELETE ${address}`;
  if (!body) return `curl -F file=@lines.txt ${address}`;
  return `curl --json '${JSON.stringify(body.schema.examples?.[0] ?? {}).replaceAll("'", "'\\''")}' ${address}`;
}

function operation(spec, path, method, route) {
  const body = route.requestBody?.content["application/json"];
  const answers = Object.entries(route.responses);
  const good = answers.find(([status]) => status.startsWith("2"));
  const answer = good?.[1].content?.["application/json"]?.schema;
  const words = answers.map(([status, one]) => `${status}: ${one.description}`).join(" · ");
  /** @type {{properties: Record<string, any>, required: string[]}} */
  const parameters = { properties: {}, required: [] };
  for (const one of route.parameters ?? []) {
    parameters.properties[one.name] = {
      ...one.schema,
      description: `${one.description ?? ""} (${one.in})`,
    };
    if (one.required) parameters.required.push(one.name);
  }
  const section = make(
    "section",
    { id: route.operationId },
    make("h3", {}, route.summary ?? route.operationId),
    make("code", { class: "address" }, make("b", {}, method.toUpperCase()), ` ${path}`),
    make("p", {}, route.description ?? ""),
    make("pre", {}, command(path, method, body)),
  );
  if (Object.keys(parameters.properties).length)
    section.append(table(spec, parameters, "In the address"));
  if (body) section.append(...bodies(spec, body.schema, "The request"));
  const item = answer?.type === "array" ? answer.items : answer;
  if (item) {
    const tables = bodies(
      spec,
      item,
      answer === item ? "The answer" : "The answer: a list of these",
    );
    section.append(make("details", {}, make("summary", {}, "Answer"), ...tables));
  }
  section.append(make("p", {}, words));
  return section;
}

async function show() {
  const about = document.querySelector("#about");
  const answer = await fetch("openapi.json");
  const spec = await answer.json();
  if (!answer.ok) {
    about.textContent = spec.detail;
    return;
  }
  const groups = new Map();
  for (const [path, methods] of Object.entries(spec.paths)) {
    for (const method of METHODS.filter((one) => one in methods)) {
      const route = methods[method];
      const group = route.tags?.[0] ?? "Others";
      groups.set(group, [...(groups.get(group) ?? []), [path, method, route]]);
    }
  }
  const parts = spec.info.description
    .split("`")
    .map((part, i) => (i % 2 ? make("code", {}, part) : part));
  about.replaceChildren(...parts, " ", make("a", { href: "openapi.json" }, "openapi.json"));
  const index = document.querySelector("#index");
  const operations = document.querySelector("#operations");
  for (const name of ["Analyses", ...[...groups.keys()].filter((one) => one !== "Analyses")]) {
    index.append(make("h2", {}, name));
    for (const [path, method, route] of groups.get(name) ?? []) {
      index.append(make("a", { href: `#${route.operationId}` }, route.operationId));
      operations.append(operation(spec, path, method, route));
    }
  }
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

show().catch(() => {
  document.querySelector("#about").textContent = "openapi.json cannot be read. Reload the page.";
});
