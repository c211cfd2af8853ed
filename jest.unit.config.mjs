/** `npm run test:unit`: the specs beside the source, and applications with the memory store that find most other faults. */
import fast from './jest.fast.config.mjs';

/** The specs of test/e2e that find the most faults for their time. */
const END_TO_END = [
  ...['block', 'count', 'dynamic', 'guard', 'headers', 'layers', 'leaky-bucket', 'observe'],
  ...['on-demand', 'refusal', 'scope', 'service', 'skip', 'subjects', 'thrown-denial'],
];

/** @type {import('jest').Config} */
export default {
  ...fast,
  roots: ['<rootDir>/lib', '<rootDir>/test/e2e'],
  testMatch: ['<rootDir>/lib/**/*.spec.ts', `<rootDir>/test/e2e/{${END_TO_END.join(',')}}.spec.ts`],
};
process.env.STORES = 'memory'; // read by test/support/virtual-store.ts, in the workers as well
