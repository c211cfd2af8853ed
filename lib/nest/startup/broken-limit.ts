import { InternalServerErrorException } from '@nestjs/common';
import type { AppliedLimit } from '../request/applied-limit.js';
import { withoutStack } from '../request/without-stack.js';

/** Replaces the rules of a route that were found after start and are wrong: each request gets a 500. */
export const BROKEN: AppliedLimit = {
  name: 'broken',
  names: ['broken'],
  path: 'broken rules',
  checks: new Set(),
  isHeld: false,
  count: 'all',
  isNamed: true,
  apply: () => {
    throw withoutStack(() => new InternalServerErrorException());
  },
};
