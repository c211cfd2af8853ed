import { expect } from '@jest/globals';

/** The `instance` of problem details: the id of a denial. */
export const INSTANCE = { instance: expect.stringMatching(/^#[\w-]{12}$/) } as const;
