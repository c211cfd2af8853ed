// Sets all code that a limiter may need, for constructors of limiters, which are synchronous.
import '../algorithms/registry.js';
import { parts } from './parts.js';
import { pipelineOf } from './pipeline.js';
import { Waits } from './waits.js';

parts.layers = pipelineOf;
parts.waits = Waits;
