// The settings of a view, as the schema of the page describes them.

/** @import { View } from "./types.d.ts" */

/** Each setting of *view* at its default.
 *  @param {View} view
 *  @returns {Record<string, any>} */
export const defaultsOf = (view) => Object.fromEntries(view.settings.map((one) => [one.name, one.default]));

/** The *settings* in the query of a link, for the form to show until the server has parsed the link. */
export function settingsInQuery(query, settings) {
  const read = { boolean: (word) => word === "True", number: Number, string: String };
  return Object.fromEntries(
    settings.filter((one) => query.has(one.name)).map((one) => [one.name, read[typeof one.default](query.get(one.name))]),
  );
}
