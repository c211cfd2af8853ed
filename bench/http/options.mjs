// The command line of http.mjs.
import { parseArgs } from 'node:util';
import { BASE, CONTESTANTS } from './contestants.mjs';

const PLATFORMS = ['fastify', 'express'];
const NAMES = CONTESTANTS.map(({ name }) => name);

/**
 * Which platforms and contestants to measure, or whose app to profile and by which load.
 *
 * @throws if something is not as allowed
 */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      json: { type: 'boolean' },
      table: { type: 'boolean' },
      platform: { type: 'string' },
      only: { type: 'string' },
      profile: { type: 'string' },
      steady: { type: 'boolean' },
    },
  });
  const only = chosen('--only', values.only?.split(','), NAMES);
  return {
    platforms: chosen('--platform', values.platform && [values.platform], PLATFORMS),
    // Nothing can be said of a limiter without what it is added to.
    names: [...new Set([BASE, ...only])],
    isSteady: values.steady,
    profiled: values.profile && chosen('--profile', [values.profile], NAMES)[0],
  };
}

function chosen(option, given, allowed) {
  for (const each of given || []) {
    if (!allowed.includes(each)) throw new Error(`${option}: got ${each}; allowed: ${allowed.join(', ')}`);
  }
  return given || allowed;
}
