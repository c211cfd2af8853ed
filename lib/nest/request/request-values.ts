import type { ExecutionContext } from '@nestjs/common';
import { promised } from '../../contracts/thenable.js';
import { UserReads } from './user-reads.js';

/**
 * The values that functions in rules return for one request. Each function is called once; what can be
 * awaited comes as a promise of this realm.
 */
export class RequestValues {
  private results: Map<unknown, unknown> | undefined;
  private userReads: UserReads | undefined;

  constructor(readonly context: ExecutionContext) {}

  of<Value>(value: Value | ((context: ExecutionContext) => Value | Promise<Value>)): Value | Promise<Value> {
    if (typeof value !== 'function') return value;
    this.results ??= new Map();
    if (!this.results.has(value)) {
      const call = (): unknown => promised((value as (context: ExecutionContext) => unknown)(this.context));
      this.results.set(value, this.userReads ? this.userReads.during(value, call) : call());
    }
    return this.results.get(value) as Value | Promise<Value>;
  }

  /** Notes from now on which functions read the user of the request, which has none yet. */
  watchUser(request: object): UserReads {
    return (this.userReads ??= new UserReads(request));
  }
}
