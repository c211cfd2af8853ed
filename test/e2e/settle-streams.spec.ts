import { once } from 'node:events';
import { get as request, type IncomingMessage, type ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { Controller, Get, Res, Sse, StreamableFile } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Observable } from 'rxjs';
import { RateLimitModule, RateLimitService, Settle } from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import { Gate } from '../support/gate.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

interface Chunk {
  readonly data: { readonly tokens: number | null };
}

const CLIENT = '127.0.0.1';
const ESTIMATE = 100;
const MEGABYTE = 1_000_000;

const RULE = {
  window: '1m',
  limit: 1e9,
  algorithm: 'fixed-window',
  cost: ESTIMATE,
  scope: 'shared',
} as const;

const RULES: Record<string, NamedRule> = {
  chunks: { ...RULE, settle: ({ data }: Chunk, _context, total) => total + (data.tokens ?? 0) },
  last: { ...RULE, settle: ({ data }: Chunk) => data.tokens },
};

const BYTES: Record<string, NamedRule> = { bytes: { ...RULE, settle: (bytes: number) => bytes } };

const chunk = (tokens: number | null): Chunk => ({ data: { tokens } });

let gate: Gate;
let returned: number;
let subscribed: number;
let read: number;

@Controller()
class StreamController {
  @Sse('events')
  events() {
    subscribed += 1;
    return new Observable<Chunk>((subscriber) => {
      subscriber.next(chunk(3));
      subscriber.next(chunk(null));
      void gate.pass().then(() => {
        subscriber.next(chunk(4));
        subscriber.complete();
      });
      return () => (returned += 1);
    });
  }

  @Get('iterable')
  async *iterable() {
    try {
      yield chunk(3);
      await gate.pass();
      yield chunk(4);
    } finally {
      returned += 1;
    }
  }

  @Get('failing')
  async *failing() {
    yield chunk(300);
    await gate.pass();
    throw new Error('no model');
  }

  @Get('unknown')
  async *unknown() {
    try {
      yield chunk(null);
      await gate.pass();
      yield chunk(null);
    } finally {
      returned += 1;
    }
  }
}

interface RawResponse {
  readonly raw?: ServerResponse;
}

@Controller()
class ManualController {
  @Get('manual')
  async manual(@Res() response: RawResponse & ServerResponse, @Settle() settle: (cost: number) => void) {
    const raw = response.raw ?? response;
    raw.write('Yes');
    settle(30);
    settle(null as never); // not known yet, as in reports of providers
    await gate.pass();
    settle(40);
    raw.end('.');
  }
}

@Controller()
class FileController {
  @Get('file')
  file() {
    return new StreamableFile(Buffer.alloc(MEGABYTE));
  }

  @Get('text')
  text() {
    return new StreamableFile(Readable.from(['näh', 'ja'], { objectMode: false }));
  }

  @Get('generated')
  generated() {
    return new StreamableFile(Readable.from([Buffer.alloc(700), 'näh'])); // in object mode, as by default
  }

  @Get('large')
  large() {
    const parts = function* () {
      for (let part = 0; part < 100; part++) {
        read += MEGABYTE;
        yield Buffer.alloc(MEGABYTE);
      }
    };
    return new StreamableFile(Readable.from(parts(), { objectMode: false, highWaterMark: 1 }));
  }

  @Get('half')
  half() {
    const stream = new PassThrough();
    stream.write(Buffer.alloc(500));
    void gate.pass().then(() => stream.destroy(new Error('no disk')));
    return new StreamableFile(stream);
  }
}

beforeEach(() => {
  gate = new Gate();
  [returned, subscribed, read] = [0, 0, 0];
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

describe.each(FRAMEWORKS)('a rule that settles by a stream, on %s', (framework) => {
  async function start(rules: Record<string, NamedRule>, controller: object) {
    const metadata = { imports: [RateLimitModule.forRoot({ rules })], controllers: [controller as never] };
    const started = await startApp(metadata, { framework });
    const service = started.app.get(RateLimitService);
    const taken = async (name: string): Promise<number> => {
      const { limit, remaining } = await service.peek(name, CLIENT, { cost: 0 });
      return limit - remaining;
    };
    const open = async (path: string): Promise<IncomingMessage> => {
      const sent = request({ port: started.port, host: CLIENT, path, agent: false });
      sent.on('error', () => undefined);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return response.on('error', () => undefined);
    };
    return {
      ...started,
      taken,
      open,
      untilTaken: (count: number, name: string) =>
        until(async () => (await taken(name)) === count, `${count} permits of ${name} to be taken`),
    };
  }

  it.each(['/events', '/iterable'])('adds up the values, or takes the last number, of %s', async (path) => {
    const { get, untilTaken, logs } = await start(RULES, StreamController);
    const answer = get(path);
    await until(() => gate.inside === 1, 'the stream to wait');
    gate.open();
    expect((await answer).status).toBe(200);
    await untilTaken(7, 'chunks');
    await untilTaken(4, 'last');
    expect(returned).toBe(1);
    expect(subscribed).toBe(path === '/events' ? 1 : 0);
    expect(logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it.each(['/events', '/iterable'])(
    'charges what had been streamed when the client of %s left',
    async (path) => {
      const { open, untilTaken, taken } = await start(RULES, StreamController);
      const response = await open(path);
      await until(() => gate.inside === 1, 'the stream to wait');
      expect(await taken('chunks')).toBe(ESTIMATE);
      response.destroy();
      if (path === '/events') await until(() => returned === 1, 'the stream to be stopped');
      else gate.open();
      await until(() => returned === 1, 'the stream to be stopped');
      const total = path === '/events' ? 3 : await taken('chunks');
      await untilTaken(total, 'chunks');
      expect([3, 7]).toContain(total);
    },
  );

  it('keeps the estimate when the client leaves before a number is known', async () => {
    const { open, taken } = await start(RULES, StreamController);
    const response = await open('/unknown');
    await until(() => gate.inside === 1, 'the stream to wait');
    response.destroy();
    gate.open();
    await until(() => returned === 1, 'the stream to be stopped');
    expect(await taken('last')).toBe(ESTIMATE);
  });

  it('charges the larger of the estimate and what was streamed when a stream fails', async () => {
    const { open, untilTaken } = await start(RULES, StreamController);
    await open('/failing');
    await until(() => gate.inside === 1, 'the stream to wait');
    gate.open();
    await untilTaken(300, 'chunks');
  });

  it.each([
    ['/file', MEGABYTE, MEGABYTE],
    ['/text', 6, 5],
    ['/generated', 704, 703],
  ])('charges the bytes that were sent of %s', async (path, bytes, characters) => {
    const { get, untilTaken, logs } = await start(BYTES, FileController);
    expect((await get(path)).body).toHaveLength(characters);
    await untilTaken(bytes, 'bytes');
    expect(logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('counts the bytes of a file at the pace of its client, and charges those that left when the client does', async () => {
    const { open, taken } = await start(BYTES, FileController);
    const response = await open('/large');
    await once(response, 'readable');
    const before = read;
    expect(before).toBeLessThan(50 * MEGABYTE);
    response.destroy();
    await until(async () => (await taken('bytes')) !== ESTIMATE, 'the bytes to be charged');
    const charged = await taken('bytes');
    expect(charged).toBeGreaterThan(0);
    expect(charged).toBeLessThanOrEqual(read);
  });

  it('keeps the estimate, or the larger number of bytes, when a file fails', async () => {
    const { open, untilTaken } = await start(BYTES, FileController);
    await open('/half');
    await until(() => gate.inside === 1, 'the file to wait');
    gate.open();
    await untilTaken(500, 'bytes');
  });

  it.each([
    ['sends its response', false],
    ['has lost its client', true],
  ])('charges what a handler settles by hand that %s', async (_title, leaves) => {
    const { open, untilTaken, taken, logs } = await start(
      { manual: { ...RULE, settle: () => undefined } },
      ManualController,
    );
    const response = await open('/manual');
    await until(() => gate.inside === 1, 'the handler to wait');
    expect(await taken('manual')).toBe(ESTIMATE);
    if (leaves) response.destroy();
    gate.open();
    await untilTaken(40, 'manual');
    expect(logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it('charges no bytes for a HEAD request', async () => {
    const { send, untilTaken } = await start(BYTES, FileController);
    expect((await send({ method: 'HEAD', path: '/file' })).status).toBe(200);
    await untilTaken(0, 'bytes');
  });
});
