// The files of the checkpoint, in pieces: from this browser's cache, else from the site. The names of pieces hold their hashes, so
// that two versions are never mixed.
import { partsOf } from "../streams.js";

export const base = new URL("../../../../", import.meta.url); // the top of the site
const TRIES = 4,
  PAUSE_MS = 500; // of a broken download; before the second try, then twice as long each time

/** A file of *bytes* in all, below the folder *root*; *hear* gets how many have arrived. Its *pieces* come one after the other, and each is kept: a visit that
 *  breaks off is continued by the next. */
export async function fetched({ bytes, pieces }, root, hear) {
  const cache = await open(),
    content = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    const room = content.subarray(at, at + piece.bytes);
    await fetchPiece(root + piece.path, room, cache, hear);
    at += piece.bytes;
  }
  return content.buffer;
}

/** Fill *room* with the piece at *path*. A broken download goes on where it stopped. */
async function fetchPiece(path, room, cache, hear) {
  const url = new URL(path, base);
  const kept = await cache?.match(url).catch(() => null);
  if (kept) {
    room.set(new Uint8Array(await kept.arrayBuffer()));
    hear(room.length);
    return;
  }
  await download(url, room, hear).catch((error) => {
    throw new Error(`${path} did not arrive (${error.message})`);
  });
  cache?.put(url, new Response(room)).catch(() => {}); // no storage: fetched again next time
}

/** The cache of this site; null where a browser has none, as in some private windows. Several sites may share a host. */
const open = async () =>
  (await globalThis.caches?.open(`bert-explorer-checkpoint ${base.pathname}`).catch(() => null)) ??
  null;

async function download(url, room, hear) {
  const bytes = room.length;
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
        room.set(part, at);
        at += part.length;
        hear(part.length);
      }
      if (at === bytes) return;
      problem = new Error(
        `it ends after ${at.toLocaleString("en")} of ${bytes.toLocaleString("en")} bytes`,
      );
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}

/** Remove from the cache what is below *root* and not among *files*: the pieces of earlier versions. */
export async function forgetOthers(files, root) {
  const folder = new URL(`${root}model/`, base).href,
    wanted = new Set();
  for (const { pieces } of files)
    for (const { path } of pieces) wanted.add(new URL(root + path, base).href);
  const cache = await open();
  for (const request of (await cache?.keys()) ?? [])
    if (request.url.startsWith(folder) && !wanted.has(request.url)) await cache?.delete(request);
}
