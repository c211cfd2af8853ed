/** What a function of an application may do instead of its work. */
export const BEHAVIOURS: Readonly<Record<string, () => unknown>>;
