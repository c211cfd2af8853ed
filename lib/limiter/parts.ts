import type { pipelineOf } from './pipeline.js';
import type { Waits } from './waits.js';

/**
 * The code that not every application loads: layers are set before the first limiter whose store is shared; what is not set
 * of the others is loaded when it is needed.
 */
export const parts: { layers?: typeof pipelineOf; waits?: typeof Waits } = {};
