// Reading what arrives.

/** The parts of *stream* as they arrive. Safari has no other way to iterate over them. */
export async function* partsOf(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
