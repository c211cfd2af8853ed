import { expect, it } from '@jest/globals';
import { ALGORITHM_NAMES, algorithmsWith, FOR_LARGE_LIMITS, loadAlgorithms, OPTION_NAMES } from './known.js';
import { algorithms } from './registry.js';

it('the list of algorithms has the names and the options of the registry', async () => {
  const registered = Object.values(algorithms);
  expect(ALGORITHM_NAMES).toEqual(Object.keys(algorithms));
  for (const { name, options } of registered) {
    for (const option of Object.keys(options)) expect(algorithmsWith(option)).toContain(name);
  }
  expect(OPTION_NAMES).toEqual(registered.flatMap(({ options }) => Object.keys(options)));
});

it('the algorithms for large limits are those whose state has one size', () => {
  expect(FOR_LARGE_LIMITS).toBe('"sliding-window-counter", "sliding-window-cells" or "gcra"');
});

it('an algorithm whose name is unknown is not loaded, since the check of its rule reports it', () => {
  expect(loadAlgorithms(['gcraa'])).toBeUndefined();
});
