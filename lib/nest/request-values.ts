import type { ExecutionContext } from '@nestjs/common';

/** The values that functions in rules give for one request: each function is called once. */
export class RequestValues {
  private results: Map<unknown, unknown> | undefined;

  constructor(private readonly context: ExecutionContext) {}

  of<Value>(value: Value | ((context: ExecutionContext) => Value | Promise<Value>)): Value | Promise<Value> {
    if (typeof value !== 'function') return value;
    this.results ??= new Map();
    if (!this.results.has(value)) {
      this.results.set(value, (value as (context: ExecutionContext) => unknown)(this.context));
    }
    return this.results.get(value) as Value | Promise<Value>;
  }
}
