/** Who is called when a signal aborts, by the signal. */
const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when a signal aborts; not if it has aborted before. Many calls for one signal add a single listener to it,
 * because Node.js warns of a leak at the eleventh.
 *
 * @returns a function that ends this
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const each = (): void => listener(); // One listener may be given twice.
  const known = listeners.get(signal) ?? listen(signal);
  known.add(each);
  return () => void known.delete(each);
}

function listen(signal: AbortSignal): Set<() => void> {
  const known = new Set<() => void>();
  listeners.set(signal, known);
  signal.addEventListener('abort', () => known.forEach((listener) => listener()), { once: true });
  return known;
}
