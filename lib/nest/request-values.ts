import type { ExecutionContext } from '@nestjs/common';
import { promised } from '../contracts/thenable.js';

/**
 * The values that functions in rules return for one request. Each function is called once; what can be
 * awaited comes as a promise of this realm.
 */
export class RequestValues {
  private results: Map<unknown, unknown> | undefined;

  constructor(readonly context: ExecutionContext) {}

  of<Value>(value: Value | ((context: ExecutionContext) => Value | Promise<Value>)): Value | Promise<Value> {
    if (typeof value !== 'function') return value;
    this.results ??= new Map();
    if (!this.results.has(value)) {
      this.results.set(value, promised((value as (context: ExecutionContext) => unknown)(this.context)));
    }
    return this.results.get(value) as Value | Promise<Value>;
  }
}
