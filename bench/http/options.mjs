// Parses the command line of http.mjs.
import { parseArgs } from 'node:util';
import { BASE, CONTESTANTS } from './contestants.mjs';

const PLATFORMS = ['fastify', 'express'];
const NAMES = CONTESTANTS.map(({ name }) => name);

/**
 * Returns the platforms and contestants to measure, or the application to profile and its load.
 *
 * @throws if an argument is not allowed
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
    // A limiter can only be compared with the application without it.
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
