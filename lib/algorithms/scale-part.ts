/**
 * Returns an instant that has a fraction in units of 1/fromLimit microsecond with one in units of 1/toLimit, rounded up.
 *
 * @param window the window of both limits, in microseconds
 */
export function scalePart(
  { instant, part }: { readonly instant: number; readonly part: number },
  fromLimit: number,
  toLimit: number,
  window: number,
): { readonly instant: number; readonly part: number } {
  if (part === 0) return { instant, part };
  const scaled = Math.ceil((part * toLimit) / fromLimit);
  if (window % toLimit === 0 || scaled === toLimit) return { instant: instant + 1, part: 0 };
  return { instant, part: scaled };
}
