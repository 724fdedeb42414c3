// node same_tokens.js FOLDER: reads each line of lines.jsonl with the tokenizer of about.json and prints, as JSON, how many lines there
// are, for how many the answer is another than the one beside it, and the first of these.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Tokenizer } from "../../bertexplorer/web/static/site/tokens.js";

const read = (name) => readFileSync(join(process.argv[2], name), "utf-8");
const tokenizer = new Tokenizer(JSON.parse(read("about.json")));
const cases = read("lines.jsonl")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const different = cases
  .map(([text, wanted]) => {
    const { originalIds, spans, words } = tokenizer.encode({ first: text });
    return {
      text,
      wanted,
      found: [originalIds, spans.map((span) => span && [span.start, span.end]), words],
    };
  })
  .filter(({ wanted, found }) => !isDeepStrictEqual(found, wanted));
process.stdout.write(JSON.stringify([cases.length, different.length, different[0] ?? null]));
