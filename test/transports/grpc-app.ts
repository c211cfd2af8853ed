import { credentials, loadPackageDefinition, status, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { INestMicroservice, Type } from '@nestjs/common';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { expect } from '@jest/globals';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { INSTANCE } from '../support/denial-id.js';
import { freePort } from '../support/redis/free-port.mjs';

const PROTO = 'test/transports/depot.proto';

type Call = (request: object, callback: (error: ServiceError | null, value: unknown) => void) => never;

/** A client of `depot.proto`. */
export type GrpcClient = Record<string, Call> & { close(): void };

const running: (() => unknown)[] = [];

/**
 * Starts a server of `depot.proto` on a free port, and returns a client of it.
 *
 * @param started receives the application
 */
export async function startGrpc(
  depot: Type,
  limits: RateLimitModuleOptions = {},
  started?: (app: INestMicroservice) => void,
): Promise<GrpcClient> {
  const url = `127.0.0.1:${await freePort()}`;
  const options: MicroserviceOptions = {
    transport: Transport.GRPC,
    options: { url, package: 'depot', protoPath: PROTO },
  };
  const parts = { imports: [RateLimitModule.forRoot(limits)], controllers: [depot] };
  const module = await Test.createTestingModule(parts).setLogger(new LogLines()).compile();
  const settings: object = options;
  const app = module.createNestMicroservice(settings);
  await app.listen();
  running.push(() => app.close());
  started?.(app);
  const { depot: loaded } = loadPackageDefinition(loadSync(PROTO)) as never as {
    depot: { Depot: new (...given: unknown[]) => GrpcClient };
  };
  const client = new loaded.Depot(url, credentials.createInsecure());
  running.push(() => client.close());
  return client;
}

/** Closes all clients and servers: for `afterEach`. */
export async function closeGrpc(): Promise<void> {
  for (const close of running.splice(0).reverse()) await close();
}

/** Expects the error of a call that a rule denied. */
export function expectDenied(found: unknown, rule: string): void {
  const error = found as ServiceError;
  expect([error.code, error.details]).toEqual([
    status.RESOURCE_EXHAUSTED,
    expect.stringMatching(`^Rule "${rule}" allows `),
  ]);
  const [details] = error.metadata.get('problem-details-bin');
  expect(JSON.parse(String(details))).toMatchObject({
    status: 429,
    'violated-policies': [rule],
    ...INSTANCE,
  });
}
