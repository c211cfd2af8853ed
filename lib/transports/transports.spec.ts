import { describe, expect, it } from '@jest/globals';
import type { ExecutionContext } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { Handshakes } from './handshakes.js';
import { exchangeOf } from './transports.js';

const handshakes = new Handshakes({} as unknown as HttpAdapterHost);

/** A context with the methods that a transport needs: its type, and the arguments of its handlers. */
function context(type: string, ...args: unknown[]): ExecutionContext {
  const fake = {
    getType: () => type,
    getArgs: () => args,
    getArgByIndex: (index: number) => args[index],
    switchToHttp: () => ({ getRequest: () => args[0], getResponse: () => args[1] }),
    switchToWs: () => ({ getClient: () => args[0], getData: () => args[1] }),
  };
  return fake as unknown as ExecutionContext;
}

/** Returns the request and response of an exchange. */
function partsOf(of: ExecutionContext) {
  const { request, response } = exchangeOf(of, handshakes);
  return { request, response };
}

/** What finds subjects in the request of a socket. */
function clientOf(client: object) {
  const { ip, socket, headers, user } = exchangeOf(context('ws', client), handshakes).request;
  return { ip, socket, headers, user };
}

const request = { ip: '10.0.0.1', headers: {} };
const response = { headersSent: false };

describe('the request and response behind a context', () => {
  it.each([
    ['Apollo on Express', { req: request, res: response }],
    ['Fastify', { request, reply: response }],
    ['Mercurius', { reply: Object.assign(response, { request }) }],
  ])('is that in the context of GraphQL, so that its clients are limited too: %s', (_server, graphql) => {
    expect(partsOf(context('graphql', {}, {}, graphql, {})).request).toBe(request);
  });

  it("are the subscriber's in a GraphQL subscription", () => {
    const graphql = { req: { extra: { request, socket: {} } } };
    expect(partsOf(context('graphql', {}, {}, graphql, {})).request).toBe(request);
  });

  it('may be missing in GraphQL without a crash', () => {
    expect(partsOf(context('graphql', {}, {}, undefined, {}))).toEqual({ request: {} });
    expect(partsOf(context('graphql', {}, {}, {}, {}))).toEqual({ request: {} });
  });

  it("are a Socket.IO client's address, headers and user", () => {
    const headers = { 'x-api-key': 'k' };
    const client = { handshake: { address: '10.0.0.1', headers }, data: { user: { id: 7 } } };
    expect(clientOf(client)).toEqual({
      ip: undefined,
      socket: { remoteAddress: '10.0.0.1' },
      headers,
      user: { id: 7 },
    });
  });

  it("are a Socket.IO client's address as the application has found it, where that is not its peer's", () => {
    const client = { handshake: { address: '203.0.113.7' }, conn: { remoteAddress: '10.0.0.1' } };
    expect(clientOf(client)).toMatchObject({ ip: '203.0.113.7' });
  });

  it("are a ws client's address and user, also a user that is set later", () => {
    const client = { _socket: { remoteAddress: '10.0.0.1' }, user: 'ann' };
    const socket = { remoteAddress: '10.0.0.1' };
    expect(clientOf(client)).toEqual({ ip: undefined, socket, headers: {}, user: 'ann' });
    client.user = 'bob';
    expect(clientOf(client).user).toBe('bob');
  });

  it('have nothing of a client that has no address', () => {
    expect(clientOf({})).toEqual({ ip: undefined, socket: undefined, headers: {}, user: undefined });
  });

  it.each(['rpc', 'something-new'])('are empty where there is neither: %s', (type) => {
    expect(partsOf(context(type, 'payload', {}))).toEqual({ request: {} });
  });
});
