import {
  Catch,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import { of, type Observable } from 'rxjs';
import type { ResponseEnd } from '../http/response-end.js';
import { DenialException } from '../nest/rate-limit.exception.js';
import type { Denial } from '../nest/request/responder.js';
import { enhancersOf, FILTERS } from '../nest/handler-interceptor.js';
import { grpcError } from './calls.js';

/** The arguments of a handler by @GrpcStreamCall: the call, and where the client expects one response its callback. */
type Arguments = [call: StreamCall, callback?: (error: unknown, ...rest: unknown[]) => void];

interface StreamCall {
  /** Where the client expects several responses. */
  write(value: unknown, ...rest: unknown[]): unknown;
  readonly cancelled?: boolean;
  emit(name: 'error', error: unknown): unknown;
  once(name: string, listener: () => void): unknown;
}

/** The pattern of a handler: gRPC's has how its messages are passed. */
type Pattern = { readonly streaming?: string } | undefined;

/** An error of a function in a rule, for a call that Nest would not answer. */
class FailedCall extends Error {
  constructor(readonly error: unknown) {
    super('The limits of a call failed.');
  }
}

/** Whether Nest passes calls to a handler as they are (@GrpcStreamCall), so that the handler ends them. */
export function takesStreamCalls(handler: object): boolean {
  const patterns = Reflect.getMetadata('microservices:pattern', handler) as Pattern[] | undefined;
  return Array.isArray(patterns) && patterns.some((pattern) => pattern?.streaming === 'pt_stream');
}

/** Returns an error of a handler: of one by @GrpcStreamCall as the filter answers it. */
export function answerableError(handler: object, error: unknown): unknown {
  return takesStreamCalls(handler) ? new FailedCall(error) : error;
}

/** Runs a step of a decision. Of a call by @GrpcStreamCall, the filter answers whatever the step throws. */
export async function answerable<Result>(
  context: ExecutionContext,
  step: () => Promise<Result>,
): Promise<Result> {
  if (context.getType<string>() !== 'rpc' || !takesStreamCalls(context.getHandler())) return step();
  try {
    return await step();
  } catch (error) {
    throw error instanceof DenialException ? error : new FailedCall(error);
  }
}

/**
 * Ends a call by @GrpcStreamCall that was denied. It precedes the filters of the application: an error that a filter
 * returns for such a call is a rejection that Nest does not handle, and ends the process.
 */
@Catch(DenialException, FailedCall)
class StreamCallFilter implements ExceptionFilter {
  private readonly logger = new Logger('RateLimit');

  catch(exception: Denial | FailedCall, host: ArgumentsHost): Observable<undefined> {
    const [call, callback] = host.getArgs<Arguments>();
    if (call.cancelled) return of(undefined); // Its client has left the queue.
    const isDenial = exception instanceof DenialException;
    const error = isDenial ? grpcError(exception, host) : this.failure(exception.error);
    if (callback) callback(error);
    else call.emit('error', error);
    return of(undefined);
  }

  /** Returns the error that Nest sends for other calls. */
  private failure(error: unknown): unknown {
    const { getError } = (error ?? {}) as { readonly getError?: unknown };
    const given: unknown = typeof getError === 'function' ? getError.call(error) : undefined;
    if (typeof given === 'object' && given !== null) return given;
    if (given === undefined) this.logger.error('The limits of a call failed.', error);
    return { status: 'error', message: given ?? 'Internal server error' };
  }
}

const FILTER = new StreamCallFilter();

/** Adds the filter to a handler by @GrpcStreamCall, before Nest reads which filters it has. */
export function addStreamCallFilter(handler: object): void {
  const others = enhancersOf(handler, FILTERS).filter((each) => each !== FILTER);
  Reflect.defineMetadata(FILTERS, [...others, FILTER], handler); // Nest begins with the last one.
}

/**
 * Calls a listener when a call by @GrpcStreamCall has ended, which is after its handler has returned.
 *
 * @param see receives each response
 * @returns whether it is such a call
 */
export function followStreamCall(
  context: ExecutionContext,
  ended: (end: ResponseEnd) => void,
  see: (response: unknown) => void = () => undefined,
): boolean {
  if (context.getType<string>() !== 'rpc' || !takesStreamCalls(context.getHandler())) return false;
  const args = context.getArgs<Arguments>();
  const [call, callback] = args;
  call.once('cancelled', () => ended('cut-off'));
  call.once('error', () => ended({ statusCode: 500 }));
  call.once('finish', () => ended({ statusCode: 200 }));
  if (callback) {
    args[1] = (error, ...rest) => {
      if (!error) see(rest[0]);
      ended({ statusCode: error ? 500 : 200 });
      callback(error, ...rest);
    };
  } else {
    const write = call.write.bind(call);
    call.write = (...sent) => {
      see(sent[0]);
      return write(...sent);
    };
  }
  if (call.cancelled) ended('cut-off');
  return true;
}
