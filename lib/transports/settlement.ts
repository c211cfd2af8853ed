import { EventEmitter, once } from 'node:events';
import { finished, Readable } from 'node:stream';
import { StreamableFile, type ExecutionContext } from '@nestjs/common';
import { defer, finalize, isObservable, tap, type Observable } from 'rxjs';
import type { Decision } from '../contracts/decision.js';
import { onAbort } from '../contracts/timer.js';
import { problem, quoted } from '../contracts/rate-limit-config.error.js';
import { messageOf, shown } from '../contracts/shown.js';
import { callSafely } from '../contracts/thenable.js';
import type { ResponseEnd } from '../http/response-end.js';
import { DecidedHit } from '../limiter/decision.js';
import { misnamed } from '../limiter/settlement.js';
import { hungUp, isHttp } from '../nest/request/exchange.js';
import type { RouteLimit } from '../nest/request/route-limit.js';
import { settlements } from '../nest/parameter.decorators.js';
import type { Warnings } from '../nest/warnings.js';
import type { Cost } from '../rules/compiled-rule.js';
import { answerableError, followStreamCall } from './grpc-stream-call.js';
import { afterRun, type HandlerRun } from './handler-run.js';
import { failure, isIterable, observed, reportingEnd, SUCCESS } from './observed-iterable.js';

/** What `settle` of each rule returned for the values of one run of a handler. */
type Run = Map<RouteLimit, number>;

const LARGEST = 1e9;

const ALLOWED = 'a function that returns the permits that the request took, from 0 to 1,000,000,000';

/** Completes the sentence "A request was settled". */
const LATE =
  ' after its response and its handler had ended, which has no effect. Call settle() before, or limit with ' +
  'RateLimitService.reserve().';

const OUTCOME = 'Such a request keeps the charge of its cost';

/** Returns what guard and interceptors of a request share: the response, which `@Settle()` has as well, or the arguments. */
export function keyOfRequest(context: ExecutionContext): object {
  return isHttp(context) ? context.getArgByIndex<object>(1) : context.getArgs();
}

/** Determines the actual cost of one request from what its handler returns. */
export class Settlement {
  /** The rules that are settled. */
  readonly limits = new Set<RouteLimit>();
  /** Their names, and those of rules that do not apply to the request. */
  readonly names = new Set<string>();
  private readonly runs: Run[] = [];
  private readonly byHand: Run = new Map();
  private readonly streams: Readable[] = [];
  private running = 0;
  private hasFailed = false;
  private isOver = false;
  /** Whether the request holds permits. */
  isHeld = false;
  /** Whether the handler has named a rule that it cannot settle, which was reported. */
  private isMisnamed = false;
  /** Whether a stream ended because its reader left. */
  private wasLeft = false;
  private readonly idle = new EventEmitter();

  /** @param closing aborts when the application ends, and waits no longer for handlers */
  constructor(
    private readonly context: ExecutionContext,
    private readonly warnings: Warnings,
    private readonly closing: AbortSignal,
  ) {}

  /** Returns the settlement of a request; `undefined` if it has none. */
  static of(context: ExecutionContext): Settlement | undefined {
    return settlements.get(keyOfRequest(context)) as Settlement | undefined;
  }

  /** Replaces what the rules return for the values of the handler. */
  settle(actual: Cost): void {
    const isByRule = typeof actual === 'object' && (actual as unknown) !== null;
    this.check(isByRule ? actual : {});
    for (const limit of this.limits) this.note(this.byHand, limit, isByRule ? actual[limit.name] : actual);
  }

  private check(actual: object): void {
    const names = [...this.names];
    const wrong = this.isOver ? LATE : misnamed(names, actual);
    if (wrong === undefined) return;
    this.isMisnamed = true;
    const handler = `${this.context.getClass().name}.${this.context.getHandler().name}`;
    const request = `A request for ${handler}, with rules ${quoted(names)} to settle, was settled${wrong}`;
    this.warnings.warn('RL_SETTLED_IN_PART', request, handler);
  }

  /** Observes a run of the handler: an interceptor may run it several times, or not at all. */
  run(values: Observable<unknown>, handler: HandlerRun = {}): Observable<unknown> {
    return defer(() => {
      if (this.isHeld && this.isOver) throw answerableError(this.context.getHandler(), hungUp()); // Its permit was released while a guard or an interceptor ran.
      const run = this.begin();
      handler.isCalled = handler.hasEnded = false;
      const see = (value: unknown): void => void this.see(run, value);
      const isCall = followStreamCall(this.context, () => undefined, see);
      return values.pipe(
        tap({ ...(!isCall && { next: see }), error: () => void (this.hasFailed = true) }),
        finalize(() => afterRun(handler, () => this.leave())),
      );
    });
  }

  /**
   * Observes what a method has returned. Returns what its caller gets.
   *
   * @param ended called when it has ended
   */
  returned(value: unknown, ended: (end: ResponseEnd) => void): unknown {
    if (isObservable(value)) return reportingEnd(this.run(value), ended);
    const isOpen = this.see(this.begin(), value, ended);
    this.leave();
    if (!isOpen) ended(SUCCESS);
    return value;
  }

  /**
   * Returns the permits that the request took by rule name, when its handler has ended as well. A rule without a known cost
   * keeps its charge.
   */
  async actual(end: ResponseEnd, decision: Decision): Promise<Record<string, number>> {
    const hadFailed = this.failed(end);
    const stop = onAbort(this.closing, () => this.idle.emit('idle'));
    while (this.running > 0 && !this.closing.aborted) await once(this.idle, 'idle');
    stop();
    this.isOver = true;
    const isError = hadFailed || (end !== 'cut-off' && this.failed(end));
    const actual = Object.create(null) as Record<string, number>; // A rule may be named `__proto__`.
    for (const limit of this.limits) {
      const cost = isError ? this.costOfError(limit, decision) : this.costOf(limit, end);
      if (cost !== undefined) actual[limit.name] = cost;
    }
    return actual;
  }

  private failed(end: ResponseEnd): boolean {
    const isError = end !== 'cut-off' && end.statusCode >= 400;
    return isError || this.hasFailed || this.streams.some(({ errored }) => errored);
  }

  private costOfError(limit: RouteLimit, decision: Decision): number {
    if (limit.fields.onError === 'refund') return 0;
    return Math.max(DecidedHit.costOf(decision, limit.name), this.totalOf(limit) ?? 0);
  }

  private costOf(limit: RouteLimit, end: ResponseEnd): number | undefined {
    const total = this.totalOf(limit);
    if (total !== undefined || end === 'cut-off' || this.wasLeft) return total;
    if (this.runs.length === 0) return 0; // Something else has responded, such as a cache.
    if (!this.isMisnamed) this.report(limit, problem(`${limit.path}.settle`, undefined, ALLOWED));
    return undefined;
  }

  private totalOf(limit: RouteLimit): number | undefined {
    const byHand = this.byHand.get(limit);
    if (byHand !== undefined) return byHand;
    const totals = this.runs.flatMap((run) => run.get(limit) ?? []);
    return totals.length === 0 ? undefined : totals.reduce((sum, total) => Math.min(sum + total, LARGEST), 0);
  }

  private begin(): Run {
    const run: Run = new Map();
    this.runs.push(run);
    this.running += 1;
    this.hasFailed = false;
    return run;
  }

  private leave(): void {
    this.running -= 1;
    if (this.running === 0) this.idle.emit('idle');
  }

  /** Returns whether the value has not ended yet. */
  private see(run: Run, value: unknown, ended?: (end: ResponseEnd) => void): boolean {
    const isFile = value instanceof StreamableFile; // has bytes, also if its stream is in object mode
    const stream: unknown = isFile ? value.getStream() : value;
    const isBytes = stream instanceof Readable && (isFile || !stream.readableObjectMode);
    const isOpen = isBytes
      ? this.countBytes(run, stream, ended)
      : isIterable(value) && this.follow(run, value, ended);
    if (!isOpen) for (const limit of this.limits) this.add(run, limit, value);
    return isOpen;
  }

  private add(run: Run, limit: RouteLimit, value: unknown): void {
    const { fields, path } = limit;
    const settle = (): unknown => {
      const given: unknown = fields.settle?.(value, this.context, run.get(limit) ?? 0);
      this.note(run, limit, given);
      return given;
    };
    const failed = (error: unknown): void =>
      this.report(limit, `${path}.settle: threw ${shown(messageOf(error))}`);
    callSafely(settle, undefined, failed);
  }

  private note(run: Run, limit: RouteLimit, given: unknown): void {
    if (given === undefined || given === null) return;
    const isCost = typeof given === 'number' && given >= 0 && given < Infinity;
    if (isCost) run.set(limit, Math.min(Math.ceil(given), LARGEST));
    if (!isCost || given > LARGEST) this.report(limit, problem(`${limit.path}.settle`, given, ALLOWED));
  }

  private report(limit: RouteLimit, reason: string): void {
    limit.warnOfInvalid('settle', reason, OUTCOME);
  }

  /** Not by `stream.on`, which would let the stream flow before the response reads it. */
  private countBytes(run: Run, stream: Readable, ended?: (end: ResponseEnd) => void): true {
    let bytes = 0;
    const count = (chunk: string | Uint8Array): void => {
      bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
      for (const limit of this.limits) this.add(run, limit, bytes);
    };
    count('');
    this.streams.push(stream);
    EventEmitter.prototype.on.call(stream, 'data', count);
    if (ended) finished(stream, (error) => ended(error ? failure(error) : SUCCESS));
    return true;
  }

  /**
   * Changes the iterable itself until it is read, since Nest compares it with what interceptors return. Returns whether it
   * can be changed.
   */
  private follow(run: Run, values: AsyncIterable<unknown>, ended?: (end: ResponseEnd) => void): boolean {
    const own = Object.getOwnPropertyDescriptor(values, Symbol.asyncIterator);
    const end = (error: unknown, isLeft: boolean): void => {
      this.wasLeft ||= isLeft;
      if (error !== undefined) this.hasFailed = true;
      this.leave();
      ended?.(isLeft ? 'cut-off' : error === undefined ? SUCCESS : failure(error));
    };
    const open = (): AsyncIterator<unknown> => {
      this.running += 1;
      if (own) Object.defineProperty(values, Symbol.asyncIterator, own);
      else Reflect.deleteProperty(values, Symbol.asyncIterator);
      return observed(values, end, undefined, (value) => void this.see(run, value));
    };
    return Reflect.defineProperty(values, Symbol.asyncIterator, { value: open, configurable: true });
  }
}
