import { algorithmOf } from '../../rules/rule-fields.js';
import type { RuleFields } from '../../nest/rules/rule-layers.js';

/** Returns why changes of a rule have no preview, as a sentence; `undefined` if they have one. */
export function whyNoPreview(fields: RuleFields): string | undefined {
  if (fields['share'] !== undefined) {
    return 'A change of this rule has no preview: its subjects share one limit, and each counts by its weight, which is not recorded.';
  }
  if (fields['maxWait'] !== undefined && !algorithmOf(fields['algorithm'] as string | undefined).delays) {
    return 'A change of this rule has no preview: its requests wait for permits, and their arrival is not recorded.';
  }
  return undefined;
}
