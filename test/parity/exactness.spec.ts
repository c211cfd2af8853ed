import { describe, expect, it } from '@jest/globals';
import { termsOf, type Admitted } from './brute-force.js';
import { checkTimelines, EVERY_REFERENCE } from './every-reference.js';
import { FORWARD } from './forward-timeline.js';

describe(`the number of allowed permits (PARITY_SEED=${FORWARD.seed})`, () => {
  it.each(EVERY_REFERENCE.filter(({ model }) => model))(
    '$name: exactly as many permits are allowed as a full list of requests would allow',
    (algorithm) => {
      checkTimelines(algorithm, ({ rule, hits }) => {
        const terms = termsOf(rule);
        const reference = algorithm.create(rule);
        const admitted: Admitted[] = [];
        const left = (at: number) => Number(algorithm.model!(admitted, BigInt(at), terms));
        const said = hits.map(({ at, cost }) => {
          const { allowed, remaining } = reference.hit(at, cost);
          return { at, cost, allowed, remaining };
        });
        const expected = hits.map(({ at, cost }) => {
          const allowed = cost <= left(at);
          if (allowed && cost > 0) admitted.push({ at: BigInt(at), cost: BigInt(cost) });
          return { at, cost, allowed, remaining: left(at) };
        });
        expect(said).toEqual(expected);
      });
    },
  );
});
