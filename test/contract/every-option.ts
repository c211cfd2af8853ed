import type { AnyRule } from '../../lib/rules/rule.js';
import { examplesFor, plainRules } from '../support/examples.js';

const quota = { limit: 5, windowMs: 10_000 };

/** The fields that rules of every algorithm have. */
const FIELDS = [
  { name: 'blocking', block: '3s' },
  { name: 'shadow', limit: 3, mode: 'shadow' },
  { name: 'shadow and blocking', mode: 'shadow', block: '3s' },
  { name: 'with a trial', trial: { limit: 3 } },
  { name: 'by instance', per: 'instance' },
] as const;

/** Every example of every algorithm, including rules that do not allow five permits at once. */
export const EVERY_KIND: readonly AnyRule[] = [
  ...examplesFor(quota).map(({ rule }) => rule),
  ...plainRules(quota)
    .slice(0, FIELDS.length)
    .map((rule, nth): AnyRule => ({ ...rule, ...FIELDS[nth]! })),
];
