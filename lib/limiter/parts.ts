import type { pipelineOf } from './pipeline.js';

/** The code that not every application loads: set before the first limiter whose store is shared. */
export const parts: { layers?: typeof pipelineOf } = {};
