import type { Pipeline } from './pipeline.js';
import type { waitsOf } from './waits.js';

/**
 * The code that not every application loads: the pipeline is set before the first limiter whose store is shared; what is not set
 * of the others is loaded when it is needed.
 */
export const parts: {
  pipeline?: typeof Pipeline;
  waitsOf?: typeof waitsOf;
} = {};
