// Sets all code that a limiter may need, for constructors of limiters, which are synchronous.
import '../algorithms/registry.js';
import { parts } from './parts.js';
import { Pipeline } from './pipeline.js';
import { ProgramOperations } from './program-operations.js';
import { loaded } from './rate-limiter.js';
import { waitsOf } from './waits.js';

parts.pipeline = Pipeline;
loaded.operations = ProgramOperations;
parts.waitsOf = waitsOf;
