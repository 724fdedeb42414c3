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

/** The *options* as the form of *view* shows them: while a file is in use, nothing built in is chosen.
 *  @param {View} view
 *  @param {Record<string, any>} options
 *  @returns {Record<string, any>} */
export function shownOptions(view, options) {
  if (!view.upload || !options[view.upload]) return options;
  return view.built_in ? { ...options, [view.built_in]: null } : options;
}

/** The *options* of *view* with another *value* of the setting *name*. Choosing something built in stops using the file.
 *  @param {View} view
 *  @param {Record<string, any>} options
 *  @param {string} name
 *  @param {any} value
 *  @returns {Record<string, any>} */
export function withSetting(view, options, name, value) {
  const leaves = view.upload && name === view.built_in;
  return { ...options, ...(leaves ? { [view.upload]: "" } : {}), [name]: value };
}
