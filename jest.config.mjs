/** The ioredis that the specs run on: `IOREDIS=5` and `IOREDIS=oldest` choose another than the newest. */
const { IOREDIS } = process.env;

/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/lib', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/fixtures/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    ...(IOREDIS && { '^ioredis$': `ioredis-${IOREDIS}` }),
    '^(\\.{1,2}/.*\\.lua)\\.js$': '$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  globalSetup: '<rootDir>/test/support/redis/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/redis/global-teardown.mjs',
  setupFiles: ['<rootDir>/test/support/fixed-seed.mjs'],
  testTimeout: 120_000, // Busy machines are slow.
  maxWorkers: 2,
  // Jest frees no ES module of a suite that has ended: about 40 MB a suite. A worker starts anew beyond this.
  workerIdleMemoryLimit: '1GB',
};
