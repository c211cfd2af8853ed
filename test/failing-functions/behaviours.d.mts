/** What a function of an application may do instead of returning a value. */
export const BEHAVIOURS: Readonly<Record<string, () => unknown>>;
