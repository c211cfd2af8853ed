import { connect, constants, type ClientHttp2Session, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Controller, Module, Post, UnauthorizedException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { until } from '../support/redis/until.mjs';

let gate: Gate;
let attempts = 0;

@Controller()
class Logins {
  @RateLimit({ name: 'login', window: '1m', limit: 2, count: 'failures', algorithm: 'fixed-window' })
  @Post('login')
  async login() {
    attempts += 1;
    await gate.pass();
    throw new UnauthorizedException();
  }
}

@Module({ imports: [RateLimitModule.forRoot({})], controllers: [Logins] })
class App {}

describe('a limit of failures over HTTP/2', () => {
  let end: () => Promise<void> = () => Promise.resolve();

  afterEach(() => end());

  it('counts a request whose stream the client has reset before its response', async () => {
    gate = new Gate();
    const options: object = { http2: true };
    const app = await NestFactory.create(App, new FastifyAdapter(options));
    app.useLogger(false);
    await app.listen(0, '127.0.0.1');
    const server = app.getHttpServer() as Http2Server;
    let closed = 0;
    server.on('stream', (stream) => void stream.once('close', () => (closed += 1)));
    const { port } = server.address() as AddressInfo;
    const session: ClientHttp2Session = connect(`http://127.0.0.1:${port}`);
    end = async () => {
      session.destroy();
      await app.close();
    };
    const request = () => {
      const stream = session.request({ ':path': '/login', ':method': 'POST' });
      stream.on('error', () => undefined);
      stream.end();
      return stream;
    };
    for (const nth of [1, 2]) {
      const stream = request();
      await until(() => attempts === nth, 'the handler');
      stream.close(constants.NGHTTP2_CANCEL);
      await until(() => closed === nth, 'the end of the stream at the server');
      gate.open();
      gate = new Gate();
    }
    const [headers] = (await once(request(), 'response')) as [Record<string, unknown>];
    expect([headers[':status'], attempts]).toEqual([429, 2]);
  });
});
