// Keeps the files of the site in the browser, so that it opens without a network. The checkpoint is kept by site.js.
const HOME = new URL("./", location.href).pathname;
const SITE = `bert-explorer ${HOME} `,
  NAME = SITE + VERSION,
  SHELL = FILES; // two sites may share a host
const PAGES = ["learn", "train", "pretrain"];
const fresh = (path) => new Request(path, { cache: "reload" }); // the browser's own cache may have files of the version before

addEventListener("install", (event) =>
  event.waitUntil(
    caches
      .open(NAME)
      .then((cache) =>
        cache.addAll([...SHELL, "./", ...PAGES.map((page) => `${page}/`)].map(fresh)),
      )
      .then(() => skipWaiting()),
  ),
);

addEventListener("activate", (event) =>
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys())
        if (name.startsWith(SITE) && name !== NAME) await caches.delete(name);
      await clients.claim();
    })(),
  ),
);

addEventListener("fetch", (event) => {
  const { request } = event,
    url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  const path = url.pathname.slice(HOME.length);
  if (path.startsWith("model/") || path.startsWith("more/")) return;
  const page =
    request.mode === "navigate" &&
    (PAGES.includes(path.replace(/\/$/, ""))
      ? `${path.replace(/\/$/, "")}/`
      : path === ""
        ? "./"
        : null);
  event.respondWith(
    caches
      .open(NAME)
      .then((cache) => cache.match(page || request, { ignoreSearch: Boolean(page) }))
      .then((kept) => (kept ? isolated(kept) : fetch(request))),
  );
});

/** *kept* with the headers that a page needs to compute on several cores: it shares nothing with pages of other hosts. */
function isolated({ body, status, headers: given }) {
  const headers = new Headers(given);
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-embedder-policy", "require-corp");
  return new Response(body, { status, headers });
}
