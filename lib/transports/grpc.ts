import type { ArgumentsHost } from '@nestjs/common';
import type { Denial } from '../nest/request/responder.js';

/** The codes of gRPC for a status of HTTP. */
const CODES: Readonly<Record<number, number>> = { 429: 8, 503: 14 };
const UNKNOWN = 2;

/** The metadata of gRPC: of a request, or the trailers of a response. */
interface Metadata {
  getMap(): unknown;
  set(name: string, value: string | Buffer): void;
}

/** An error from which gRPC makes the status of a call. */
interface GrpcError {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/**
 * Returns the error of a denied call of gRPC: the status RESOURCE_EXHAUSTED, or UNAVAILABLE if the limits could not be
 * checked, with `retry-after` (seconds) and `problem-details-bin` (JSON) in its metadata. `undefined` for other transports.
 */
export function grpcError(exception: Denial, host: ArgumentsHost): GrpcError | undefined {
  const request = metadataOf(host);
  if (!request) return undefined;
  const metadata = new (request.constructor as new () => Metadata)();
  const { retryAfterMs } = exception.decision;
  if (retryAfterMs !== null) metadata.set('retry-after', String(Math.ceil(retryAfterMs / 1000)));
  metadata.set('problem-details-bin', Buffer.from(JSON.stringify(exception.getResponse())));
  return { code: CODES[exception.getStatus()] ?? UNKNOWN, details: exception.message, metadata };
}

/** A handler gets the metadata of a call as its second argument; one that is passed the call finds it there. */
function metadataOf(host: ArgumentsHost): Metadata | undefined {
  const [call, metadata] = host.getArgs<unknown[]>();
  return [metadata, (call as { metadata?: unknown } | undefined)?.metadata].find(isMetadata);
}

function isMetadata(value: unknown): value is Metadata {
  const { getMap, set } = (value ?? {}) as Partial<Metadata>;
  return typeof getMap === 'function' && typeof set === 'function';
}
