import { compareStrictness, type Decision, type RuleDecision } from '../contracts/decision.js';
import type { Header } from '../http/headers.js';
import { DecidedHit } from '../limiter/decision.js';

/** The decisions on the fields of one GraphQL operation, reported as one. */
export class Operation {
  private decision: Decision | undefined;
  private isDenied = false;
  /** Whether each denial is one of limits that could not be checked. */
  private isUnavailable = true;
  /** The headers of all decisions. */
  headers: readonly Header[] = [];
  /** Aborts when the client has ended the operation; absent until a field waits. */
  gone: AbortSignal | undefined;

  /** Returns the headers of this decision and those before it. */
  add(decision: Decision, format: (decision: Decision) => readonly Header[]): readonly Header[] {
    if (!decision.allowed) {
      this.isDenied = true;
      this.isUnavailable &&= decision.fallback === 'deny';
    }
    this.decision = this.decision ? merged(this.decision, decision) : decision;
    return (this.headers = format(this.decision));
  }

  /** The HTTP status of the operation if no field has data; `undefined` if no field was denied. */
  get status(): number | undefined {
    if (!this.isDenied) return undefined;
    return this.isUnavailable ? 503 : 429;
  }
}

const operations = new WeakMap<object, Operation>();

/** Returns the decisions on the operation with this context, which all its fields share. */
export function operationOf(context: object): Operation {
  const known = operations.get(context);
  if (known) return known;
  const operation = new Operation();
  operations.set(context, operation);
  return operation;
}

/** Whether a root field has data. */
export function hasData(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.values(data).some((value) => value !== null);
}

/** Returns one decision with the strictest result of each rule. */
function merged(one: Decision, other: Decision): Decision {
  const rules = new Map<string, RuleDecision>();
  for (const result of [...one.decisions, ...other.decisions]) {
    const known = rules.get(result.rule);
    if (!known || compareStrictness(result, known) < 0) rules.set(result.rule, result);
  }
  return new DecidedHit([...rules.values()], one.source);
}
