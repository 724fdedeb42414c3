// The settings of a view, as the schema of the page describes them.

/** @import { View } from "./types.d.ts" */

/** Each setting of *view* at its default.
 *  @param {View} view
 *  @returns {Record<string, any>} */
export const defaultsOf = (view) =>
  Object.fromEntries(view.settings.map((one) => [one.name, one.default]));

/** @type {Record<string, (word: string) => any>} */
const READERS = { boolean: (word) => word === "True", number: Number, string: String };

/** The settings in the *query* of a link, each of the type of its default in *defaults*.
 *  @param {URLSearchParams} query
 *  @param {Record<string, any>} defaults
 *  @returns {Record<string, any>} */
export const settingsInQuery = (query, defaults) =>
  Object.fromEntries(
    Object.entries(defaults)
      .filter(([name]) => query.has(name))
      .map(([name, usual]) => [name, READERS[typeof usual](query.get(name) ?? "")]),
  );
