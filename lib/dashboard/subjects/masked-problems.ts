import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { ExceptedSubject } from '../../contracts/rule-source.js';
import { subjectFromSource } from '../../rules/subject-digest.js';
import { masked } from './masked.js';

/** A subject in messages about exceptions: a JSON text, a number, a digest, or a list of these. */
const SUBJECT =
  /(?<= for subject )(?:"(?:[^"\\]|\\.)*"|\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]|\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}|-?\d+)/g;

/** Returns an error without the subjects in its messages; other errors as they are. */
export function withMaskedSubjects(error: unknown): unknown {
  if (!(error instanceof RateLimitConfigError)) return error;
  return new RateLimitConfigError(error.problems.map((each) => each.replace(SUBJECT, maskedText)));
}

function maskedText(json: string): string {
  return JSON.stringify(masked(subjectFromSource(JSON.parse(json) as ExceptedSubject)));
}
