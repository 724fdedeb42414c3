// The files of the checkpoint: from this browser's cache, else from the site. Their names hold their hashes, so that two versions
// are never mixed.
import { partsOf } from "../streams.js";

export const base = new URL("../../../../", import.meta.url); // the top of the site
const TRIES = 4,
  PAUSE_MS = 500; // of a broken download; before the second try, then twice as long each time

/** The *bytes* of the file at *path*; *hear* gets how many have arrived. A broken download goes on where it stopped. */
export async function fetched(path, bytes, hear) {
  const url = new URL(path, base),
    cache = await open();
  const kept = await cache?.match(url).catch(() => null);
  if (kept) {
    hear(bytes);
    return kept.arrayBuffer();
  }
  const content = await download(url, bytes, hear).catch((error) => {
    throw new Error(`${path} did not arrive (${error.message})`);
  });
  cache
    ?.put(url, new Response(content))
    .then(() => forget(cache, path))
    .catch(() => {}); // no storage: fetched again next time
  return content.buffer;
}

/** The cache of this site; null where a browser has none, as in some private windows. Several sites may share a host. */
const open = async () =>
  (await globalThis.caches?.open(`bert-explorer-checkpoint ${base.pathname}`).catch(() => null)) ??
  null;

async function download(url, bytes, hear) {
  const content = new Uint8Array(bytes);
  let at = 0;
  /** @type {unknown} */
  let problem;
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries) await new Promise((go) => setTimeout(go, PAUSE_MS * 2 ** (tries - 1)));
    try {
      const reply = await fetch(url, at ? { headers: { range: `bytes=${at}-` } } : {});
      if (!reply.ok) throw new Error(`the site answers with error ${reply.status}`);
      if (at && reply.status !== 206) {
        hear(-at);
        at = 0;
      } // a server that sends the whole again
      for await (const part of partsOf(reply.body)) {
        if (at + part.length > bytes)
          throw new Error("the site has another version of it by now; reload the page");
        content.set(part, at);
        at += part.length;
        hear(part.length);
      }
      if (at === bytes) return content;
      problem = new Error(
        `it ends after ${at.toLocaleString("en")} of ${bytes.toLocaleString("en")} bytes`,
      );
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}

/** Remove the other versions of a file. */
async function forget(cache, path) {
  const stem = path.replace(/-[0-9a-f]{12}\.\w+$/, "");
  for (const request of await cache.keys())
    if (request.url.includes(stem) && !request.url.endsWith(path)) await cache.delete(request);
}
