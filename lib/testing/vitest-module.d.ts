/** The part of Vitest that vitest.ts uses. Vitest is not installed here, since the tests run on Jest. */
declare module 'vitest' {
  export const expect: { extend(matchers: object): void };
}
