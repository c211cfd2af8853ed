import { shown } from './shown.js';

/** Thrown by a change of a live rule if the rule has changed since the version that the author saw, or if rules were lost. */
export class RateLimitConflictError extends Error {
  override readonly name = 'RateLimitConflictError';

  /**
   * @param rule the name of the rule
   * @param version the current version of the rule; 0 if it has no live change
   * @param given the version that the author saw; or why no change is possible
   */
  constructor(
    /** The name of the rule. */
    readonly rule: string,
    /** The current version of the rule; 0 if it has no live change. */
    readonly version: number,
    given: number | string,
  ) {
    super(
      typeof given === 'string'
        ? `live rules: ${given}`
        : `rule ${shown(rule)}: the change is for version ${given}, but the rule has version ${version}. ` +
            'Read the rule again, and repeat the change if it is still right.',
    );
  }
}
