// @ts-check
// Fits heads away from the page, which goes on meanwhile.
import { fitWithRidge, leftOutInTurn } from "./evaluation.js";
import { plane } from "./plane.js";
import { wordVectors } from "./words.js";

onmessage = ({ data: { number, vectors, rows, evaluate } }) => {
  const fitted = fitWithRidge(vectors, rows);
  postMessage({ number, fitted: { ...fitted, places: plane(vectors) } });
  if (!evaluate) return;
  postMessage({
    number,
    evaluated: {
      found: leftOutInTurn(vectors, rows),
      byWords: leftOutInTurn(wordVectors(rows.sentences), rows),
    },
  });
};
