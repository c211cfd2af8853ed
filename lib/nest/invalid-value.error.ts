import { RateLimitConfigError } from '../core/rate-limit-config.error.js';

/** Thrown when a function in a rule has returned a value that a rule cannot have. */
export class InvalidValueError extends RateLimitConfigError {}
