// The scripts that browsers load, as the linter reads them: the recommended rules. The app needs none of this.
import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/vendor/", "**/.venv/", "**/.extras/"] },
  js.configs.recommended,
  {
    languageOptions: {
      ecmaVersion: "latest",
      sourceType: "module",
      globals: { ...globals.browser },
    },
  },
  { rules: { "no-unused-vars": ["error", { argsIgnorePattern: "^_" }] } }, // what others may read
  {
    files: ["bertexplorer/web/static/site/*.js", "bertexplorer/views/*/browser.js"],
    languageOptions: { globals: { ...globals.worker } },
  },
  {
    files: ["bertexplorer/web/static/site/sw.js"],
    languageOptions: {
      globals: { ...globals.serviceworker, VERSION: "readonly", FILES: "readonly" },
    },
  },
  {
    files: ["assets/bertviz.js"], // a notebook's page calls it
    languageOptions: { sourceType: "script", globals: { jQuery: "readonly", d3: "readonly" } },
    rules: { "no-unused-vars": ["error", { varsIgnorePattern: "^bertviz$" }] },
  },
  {
    files: ["bertexplorer/web/static/embedded_loader.js"],
    languageOptions: { globals: { SOURCES: "readonly", ENTRY: "readonly" } },
  },
  {
    files: ["bertexplorer/blocks/on_load.js"], // Gradio hands these over
    languageOptions: {
      globals: {
        element: "readonly",
        props: "readonly",
        server: "readonly",
        trigger: "readonly",
        watch: "readonly",
      },
    },
  },
  { files: ["tests/scripts/**", "*.config.js"], languageOptions: { globals: { ...globals.node } } },
];
