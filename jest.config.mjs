/** The ioredis that the specs run on: `IOREDIS=5` and `IOREDIS=oldest` choose another than the newest. */
const { IOREDIS } = process.env;

/** The folder of a project with Nest 11: the specs run on its Nest, and on the libraries that both import. */
const { NEST_11 } = process.env;
const OF_NEST =
  '@nestjs/.*|@apollo/.*|@as-integrations/.*|@grpc/.*|graphql|graphql/.*|mercurius|rxjs|rxjs/.*';

/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/lib', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/fixtures/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    ...(NEST_11 && { [`^(${OF_NEST})$`]: `${NEST_11}/node_modules/$1` }),
    ...(IOREDIS && { '^ioredis$': `ioredis-${IOREDIS}` }),
    '^(\\.{1,2}/.*\\.lua)\\.js$': '$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transformIgnorePatterns: ['/node_modules/(typescript|@ts-morph/common)/'],
  transform: {
    '/node_modules/.+\\.[cm]?js$': ['<rootDir>/test/support/transform.mjs', { packages: true }],
    '^.+\\.ts$': [
      '<rootDir>/test/support/transform.mjs',
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
  // One more than the two cores: specs that wait leave a third of them idle.
  maxWorkers: 3,
  // `npm run jest` gives V8 more room for new objects, which saves garbage collections: 8 % of the CPU time.
  // Jest frees no ES module of a suite that has ended: about 40 MB a suite. A worker starts anew beyond this.
  workerIdleMemoryLimit: '1GB',
};
