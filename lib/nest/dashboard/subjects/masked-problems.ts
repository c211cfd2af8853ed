import { RateLimitConfigError } from '../../../contracts/rate-limit-config.error.js';
import { masked } from './masked.js';

/** A subject in messages about exceptions: a JSON text, a number, or a list of these. */
const SUBJECT = /(?<= for subject )(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]|-?\d+)/g;

/** Returns an error without the subjects in its messages; other errors as they are. */
export function withMaskedSubjects(error: unknown): unknown {
  if (!(error instanceof RateLimitConfigError)) return error;
  return new RateLimitConfigError(error.problems.map((each) => each.replace(SUBJECT, maskedText)));
}

function maskedText(json: string): string {
  const subject = JSON.parse(json) as unknown;
  return JSON.stringify(masked(Array.isArray(subject) ? subject.map(String) : String(subject)));
}
