/** `npm run test:fast`: the specs beside the source, without a Redis server. */
import config from './jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/lib'],
  globalSetup: '<rootDir>/test/support/embed.mjs',
  globalTeardown: null,
};
