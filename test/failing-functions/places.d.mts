import type { RouteRule } from '../../lib/index.js';

/** Each place for a function, with the rules of a route on which the function there is `behave`. */
export const PLACES: Readonly<Record<string, (behave: () => unknown) => readonly RouteRule[]>>;
