// Reading what arrives.

/** The parts of *stream* as they arrive. Safari has no other way to iterate over them.
 *  @template T
 *  @param {ReadableStream<T> | null | undefined} stream */
export async function* partsOf(stream) {
  if (!stream) return;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
