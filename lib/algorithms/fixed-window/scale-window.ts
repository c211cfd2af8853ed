import { scaleCount, type Scale } from '../proportional.js';
import type { FixedWindowState } from './window-state.js';

/** Scales the consumed permits of a window. */
export const scaleWindow: Scale<FixedWindowState> = (state, from, to) => ({
  ...state,
  count: scaleCount(state.count, from, to),
  debt: scaleCount(state.debt, from, to),
});
