import type { RouteRule } from '../../lib/index.js';

/** Each option that can be a function, with the rules of a route on which that function is `behave`. */
export const PLACES: Readonly<Record<string, (behave: () => unknown) => readonly RouteRule[]>>;
