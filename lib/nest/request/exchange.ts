import { HttpException, type ArgumentsHost, type ExecutionContext } from '@nestjs/common';
import { promised, type MaybePromise } from '../../contracts/thenable.js';
import type { Decision } from '../../contracts/decision.js';
import type { Header } from '../../http/headers.js';
import { afterResponse, responseSignal, type ResponseEnd } from '../../http/response-end.js';
import type { HttpRequest } from '../../http/subject.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import type { PerRequest, SubjectResolver, TransportName } from '../rules/route-rule.js';
import type { UserReads } from './user-reads.js';

/** The request of a transport without client addresses, such as a message queue. */
export const WITHOUT_CLIENT: HttpRequest = Object.freeze({});

/** The status for a client that has disconnected (499 in nginx). The client never receives it. */
const CLIENT_CLOSED_REQUEST = 499;

const NOTHING: readonly Finish[] = [];

/**
 * Why a request is denied without being counted: it has no subject, a rule has no valid limit, the framework reports no
 * IP address, or the client has disconnected.
 */
export interface Uncounted {
  readonly rule: string;
  readonly reason: 'no-subject' | 'no-limit' | 'no-address' | 'hung-up';
}

/** The result of applying a rule to a request: its hits (none if the rule does not apply), or why it is not counted. */
export type Applied = readonly RuleHit[] | Uncounted;

/** Settles the charges of a request that has ended, or checks it. Never rejects. */
export type Finish = (end: ResponseEnd) => MaybePromise<void>;

/** Returns the exception of a request that waits and whose client has disconnected. */
export function hungUp(): HttpException {
  return new HttpException('Client Closed Request', CLIENT_CLOSED_REQUEST);
}

/** Returns the subject of a request for the rule with a name; `undefined` for the subject of the rule's `by`. */
export type SubjectHook = (context: ExecutionContext, rule: string) => ReturnType<SubjectResolver>;

/**
 * One request in any transport: where its client is found, where its headers go, and the values that functions in rules
 * return for it. Each transport has a subclass in lib/nest/transports.
 */
export abstract class Exchange {
  abstract readonly transport: TransportName;
  abstract readonly context: ExecutionContext;
  /** What identifies the client. */
  abstract readonly request: HttpRequest;
  /** The response whose end is the end of the request: of HTTP only. In other transports the handler's end is. */
  readonly response: unknown;
  /** The `subjectOf` of a guard that overrides it. */
  subjectOf: SubjectHook | undefined;
  /** The last decision on the request. */
  decision: Decision | undefined;
  /** Whether the end of the request will be reported. */
  isFollowed = true;
  /** Which functions read the user of the request before it has one; absent unless a check needs it. */
  userReads: UserReads | undefined;
  private finishes = NOTHING;
  private endedBy: ResponseEnd | undefined;
  private values: Map<unknown, unknown> | undefined;

  /** Sets the headers of a decision, where the transport has headers but no response to set them on at once. */
  sendHeaders?(decision: Decision, format: (decision: Decision) => readonly Header[]): void;

  /** Returns a signal that aborts when the client has disconnected; `undefined` where no client is known. */
  gone(): AbortSignal | undefined {
    return this.response ? responseSignal(this.response, hungUp) : undefined;
  }

  /**
   * Returns a signal that aborts when the client ends a subscription; `undefined` where the server returns the iterator of
   * every subscription that has ended.
   */
  closed(): AbortSignal | undefined {
    return undefined;
  }

  /**
   * Returns the value of a rule's field for this request. A function is called once per request; a result that can be
   * awaited is converted to a native promise.
   */
  valueOf<Value>(field: PerRequest<Value>): Value | Promise<Value> {
    if (typeof field !== 'function') return field;
    this.values ??= new Map();
    if (!this.values.has(field)) {
      const call = (): unknown => promised((field as (context: ExecutionContext) => unknown)(this.context));
      this.values.set(field, this.userReads ? this.userReads.during(field, call) : call());
    }
    return this.values.get(field) as Value | Promise<Value>;
  }

  /** Calls a function once, when the request has ended. */
  onEnd(finish: Finish): void {
    if (this.endedBy) void finish(this.endedBy);
    else this.finishes = [...this.finishes, finish];
  }

  /** Whether anything waits for the end of the request. */
  get settles(): boolean {
    return this.finishes.length > 0;
  }

  /** Reports the end of the request, where it is not the end of a response. */
  end(end: ResponseEnd): void {
    this.endedBy = end;
    const finishes = this.finishes;
    this.finishes = NOTHING;
    for (const finish of finishes) void finish(end);
  }
}

/** Whether a context is one of HTTP. A library that states no type for the calls of its handlers gets that of HTTP. */
export function isHttp(host: ArgumentsHost): boolean {
  if (host.getType() !== 'http') return false;
  const response = host.getArgByIndex<unknown>(1);
  return (
    typeof response === 'object' && response !== null && ('setHeader' in response || 'header' in response)
  );
}

/** A request and its response, on Express or Fastify. The response has the headers, and its end settles charges. */
export class HttpExchange extends Exchange {
  readonly transport = 'http';
  readonly request: HttpRequest;
  override readonly response: unknown;

  constructor(readonly context: ExecutionContext) {
    super();
    this.request = context.getArgByIndex(0);
    this.response = context.getArgByIndex(1);
  }

  override onEnd(finish: Finish): void {
    afterResponse(this.response, (end) => void finish(end));
  }
}
