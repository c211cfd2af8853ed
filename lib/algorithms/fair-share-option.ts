import { isFields } from '../contracts/fields.js';
import { integer, type OptionCheck } from '../contracts/options.js';

/** Fair shares: the limit applies to all subjects of the rule together, and each is guaranteed a part of it. */
export interface FairShare {
  /**
   * Weights of subjects by name, integers from 1 to 1,000, at most 1,000 names: as programs pass a subject, such as the
   * value of the header in `by`. These subjects always have a place of their own.
   * @default none
   */
  readonly weights?: Readonly<Record<string, number>>;
  /**
   * Weight of every other subject: an integer from 1 to 1,000.
   * @default 1
   */
  readonly weight?: number;
}

const MOST_NAMES = 1000;
const WEIGHT = integer(1, 1000);

/** The check of the option `share`. */
export const fairShareOption: OptionCheck = {
  allowed: `{ weights: { name: ${WEIGHT.allowed} }, weight: ${WEIGHT.allowed} }, each optional, with at most ${MOST_NAMES} names`,
  accepts(value) {
    if (!isFields(value)) return false;
    const { weights = {}, weight = 1, ...others } = value;
    const hasOthers = Object.values(others).some((each) => each !== undefined);
    if (hasOthers || !isFields(weights) || Object.keys(weights).length > MOST_NAMES) return false;
    return [weight, ...Object.values(weights)].every(WEIGHT.accepts);
  },
  fix: (value) => {
    if (value === true) return 'write share: {} for equal shares';
    if (isFields(value) && 'by' in value) return 'write `by` on the rule: its subjects share the limit';
    return undefined;
  },
};
