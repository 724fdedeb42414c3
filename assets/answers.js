// How every page asks. gradio reads all its answers from one stream, which the server closes once nothing is left to
// answer. What was asked at that moment would count as part of a stream that is gone, and its answer never be read. So
// a question counts as taken only once the stream has named it, or no stream is open.
(() => {
  const plain = window.fetch, named = new Set();
  const LEFT = 1000, MOST = 5000;  // ms until an ended stream is given up, and that a question is held at most
  let open = 0;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));

  // The same stream, with the events that it names written down.
  const noted = (body, signal, over) => {
    const reader = body.getReader(), decoder = new TextDecoder();
    const end = () => setTimeout(over, LEFT);  // gradio, once it has read the last word, leaves it itself
    let tail = "";
    return new ReadableStream({
      async pull(out) {
        try {
          const { done, value } = await reader.read();
          if (done) { end(); out.close(); return; }
          const text = tail + decoder.decode(value, { stream: true });
          for (const [, event] of text.matchAll(/"event_id":\s*"(\w+)"/g)) named.add(event);
          tail = text.slice(-100);
          out.enqueue(value);
        } catch (error) {
          end();
          signal.aborted ? out.close() : out.error(error);
        }
      },
      cancel(reason) { over(); return reader.cancel(reason); },
    });
  };
  const stream = async (...given) => {
    const { signal } = given[0];
    let over = () => { over = () => {}; open -= 1; };
    open += 1;
    signal.addEventListener("abort", () => over());
    try {
      const answer = await plain(...given);
      if (answer.ok) return new Response(noted(answer.body, signal, () => over()), answer);
      over();
      return answer;
    } catch (error) { over(); throw error; }
  };

  // If the queue is full (503), the request is sent again after the time in Retry-After.
  const join = async (...given) => {
    try { document.body.dataset.page = JSON.parse(given[1].body).session_hash; } catch { /* no page to ask about */ }
    let answer = await plain(...given);
    while (answer.status === 503 && answer.headers.has("retry-after")) {
      const rest = Number(answer.headers.get("retry-after"));
      document.body.dataset.busy = `Many are asking. Yours is asked again in ${rest} s`;
      await wait(1000 * rest);
      delete document.body.dataset.busy;
      answer = await plain(...given);
    }
    if (!answer.ok) return answer;
    const { event_id: event } = await answer.clone().json(), begun = Date.now();
    while (open && !named.has(event) && Date.now() - begun < MOST) await wait(5);
    named.delete(event);
    return answer;
  };

  window.fetch = (...given) => {
    const to = String(given[0].url ?? given[0]);
    return (to.includes("/queue/join") ? join : to.includes("/queue/data") ? stream : plain)(...given);
  };
})();
