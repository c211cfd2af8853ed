import type { Server } from 'node:net';
import { promisify } from 'node:util';
import {
  BadRequestException,
  Controller,
  Get,
  Injectable,
  NotFoundException,
  Param,
  Sse,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { of } from 'rxjs';
import { RateLimitModule, RateLimitService } from '../../lib/index.js';
import type { NamedRule } from '../../lib/nest/rules/route-rule.js';
import type { Store } from '../../lib/store.js';
import { Gate } from '../support/gate.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, SETUPS, startApp, type Framework } from '../support/nest-app.js';
import { onClosed } from '../support/on-closed.js';
import { askAndWait } from '../support/raw-client.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { virtualStore, VirtualTime, type StoreKind } from '../support/virtual-store.js';
import { INSTANCE } from '../support/denial-id.js';

const EXPORTS = { algorithm: 'concurrency', limit: 2, scope: 'shared', lease: '1h' } as const;
const CLIENT = '127.0.0.1';

let gate: Gate;

@Injectable()
class HidingGuard implements CanActivate {
  async canActivate(): Promise<never> {
    await gate.pass();
    throw new NotFoundException();
  }
}

@Injectable()
class RefusingPipe implements PipeTransform {
  async transform(): Promise<never> {
    await gate.pass();
    throw new BadRequestException();
  }
}

@Injectable()
class SlowGuard implements CanActivate {
  async canActivate(): Promise<true> {
    await gate.pass();
    return true;
  }
}

@Controller()
class Exports {
  @Get('held')
  held() {
    return gate.pass();
  }

  @Sse('events')
  async events() {
    await gate.pass();
    return of({ data: 'event' });
  }

  @Get('broken')
  async broken() {
    await gate.pass();
    throw new Error('broken');
  }

  @UseGuards(HidingGuard)
  @Get('hidden')
  hidden() {}

  @UseGuards(SlowGuard)
  @Get('guarded')
  guarded() {
    return gate.pass();
  }

  @Get('item/:id')
  item(@Param('id', RefusingPipe) _id: string) {}
}

interface Place {
  readonly framework: Framework;
  readonly kind: StoreKind;
  readonly time?: VirtualTime;
  readonly prefix?: string;
}

/** Starts an application with the rule `exports`. */
async function start({ framework, kind, time, prefix }: Place, rule: Partial<NamedRule> = {}) {
  const store = virtualStore(kind, time ?? new VirtualTime());
  const adjust = jest.spyOn(store, 'adjust');
  const rules = { exports: { ...EXPORTS, ...rule } as NamedRule };
  const limits = RateLimitModule.forRoot({ rules, prefix: prefix ?? uniquePrefix() });
  const app = await startApp({ imports: [limits], controllers: [Exports] }, { framework, store });
  const service = app.app.get(RateLimitService);

  /** Returns the number of permits that a client holds. */
  async function held(client = CLIENT): Promise<number> {
    const { limit, remaining } = await service.peek('exports', client, { cost: 0 });
    return limit - remaining;
  }
  return {
    ...app,
    service,
    held,
    untilClosed: () =>
      until(
        async () => (await connectionsOf(app.app.getHttpServer() as Server)) === 0,
        'the connection to close',
      ),
    untilHeld: (count: number, client?: string) =>
      until(async () => (await held(client)) === count, `${count} permits to be held`),
    /** Returns the adjustments of permits of a kind, and whether each had an effect. */
    adjusted: (kind: 'refund' | 'renew') => adjustedOf(adjust, kind),
  };
}

function connectionsOf(server: Server): Promise<number> {
  return promisify(server.getConnections.bind(server))();
}

async function adjustedOf(adjust: jest.Spied<Store['adjust']>, kind: string): Promise<boolean[]> {
  const results = await Promise.all(adjust.mock.results.map(({ value }) => value as Promise<boolean[]>));
  return adjust.mock.calls
    .slice(0, results.length)
    .flatMap(([adjustments], call) => results[call]!.filter((_, index) => adjustments[index]!.kind === kind));
}

beforeEach(() => {
  gate = new Gate();
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

describe.each(SETUPS)('a limit on requests in flight, on $framework with $kind', (setup) => {
  it('a concurrency limit allows its number of requests at a time, and denied requests hold no permit', async () => {
    const { get, untilHeld, adjusted } = await start(setup);
    for (let round = 1; round <= 2; round++) {
      const statuses: number[] = [];
      const asked = Array.from({ length: 6 }, async () => statuses.push((await get('/held')).status));
      await until(() => statuses.length === 4 && gate.inside === 2, 'four to be refused and two to be held');
      gate.open();
      await Promise.all(asked);
      expect(statuses).toEqual([429, 429, 429, 429, 200, 200]);
      await untilHeld(0);
      expect(await adjusted('refund')).toEqual(Array(2 * round).fill(true));
    }
    expect(gate.most).toBe(2);
  });

  it.each([
    ['a success', '/held', 200],
    ['an error that the handler throws', '/broken', 500],
    ['a later guard that hides the route', '/hidden', 404],
    ['a pipe that refuses what it gets', '/item/1', 400],
  ])('a permit is released once after %s', async (_title, path, status) => {
    const { get, held, untilHeld, adjusted } = await start(setup);
    const answer = get(path);
    await until(() => gate.inside === 1, 'the request to be in flight');
    expect(await held()).toBe(1);
    expect(await adjusted('refund')).toEqual([]);
    gate.open();
    expect((await answer).status).toBe(status);
    await untilHeld(0);
    expect(await adjusted('refund')).toEqual([true]);
  });

  it.each(['/held', '/events'])(
    'a permit is held until the handler of %s has ended, although its client has disconnected',
    async (path) => {
      const { port, held, untilHeld, untilClosed, adjusted } = await start(setup);
      const client = await askAndWait(port, path);
      await until(() => gate.inside === 1, 'the request to be in flight');
      client.hangUp();
      await untilClosed();
      expect(await held()).toBe(1);
      expect(await adjusted('refund')).toEqual([]);
      gate.open();
      await untilHeld(0);
      expect(await adjusted('refund')).toEqual([true]);
    },
  );

  it('a handler does not run whose client has disconnected while a guard ran', async () => {
    const { port, get, untilHeld } = await start(setup);
    const client = await askAndWait(port, '/guarded');
    await until(() => gate.inside === 1, 'the guard to run');
    client.hangUp();
    await untilHeld(0);
    gate.open();
    const next = get('/held');
    await until(() => gate.inside === 1, 'the next request to be in flight');
    gate.open();
    expect((await next).status).toBe(200);
    expect(gate.arrived).toBe(2);
  });

  it('a client that disconnects before the decision holds no permit', async () => {
    let hasClosed = false;
    const by = async (context: ExecutionContext) => {
      onClosed(context, () => (hasClosed = true));
      await gate.pass();
      return 'somebody';
    };
    const { port, untilHeld, adjusted } = await start(setup, { by });
    const client = await askAndWait(port, '/held');
    await until(() => gate.inside === 1, 'the request to wait for its subject');
    client.hangUp();
    await until(() => hasClosed, 'the server to see that the client is gone');
    gate.open();
    await until(async () => (await adjusted('refund')).length > 0, 'the permit to be given back');
    expect(await adjusted('refund')).toEqual([true]);
    await untilHeld(0, 'somebody');
  });

  it('with wait, a request waits for a permit, and gets it when another one is released', async () => {
    const { get, service, untilHeld } = await start(setup, { maxWait: '1m' });
    const [first, second] = [await service.hold('exports', CLIENT), await service.hold('exports', CLIENT)];
    const answers = [get('/held'), get('/held')];
    expect([first.allowed, second.allowed, gate.inside]).toEqual([true, true, 0]);
    await first.release();
    await until(() => gate.inside === 1, 'one request to be in flight');
    await second.release();
    await until(() => gate.inside === 2, 'both requests to be in flight');
    gate.open();
    for (const answer of answers) expect((await answer).status).toBe(200);
    await untilHeld(0);
  });

  it('with wait, a request is denied when its time is over', async () => {
    const { get, service, untilHeld } = await start(setup, { maxWait: '30ms' });
    const both = await service.hold('exports', CLIENT, { cost: 2 });
    const refused = await get('/held');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3600']);
    await both.release();
    await untilHeld(0);
  });

  it('with wait, a request leaves the queue when its client disconnects', async () => {
    const { port, service, untilHeld } = await start(setup, { maxWait: '1m', queue: 1 });
    const both = await service.hold('exports', CLIENT, { cost: 2 });
    const isFull = (): Promise<boolean> =>
      service.hold('exports', CLIENT, { signal: AbortSignal.timeout(20) }).then(
        ({ allowed }) => !allowed,
        () => false, // it waited
      );
    let client = await askAndWait(port, '/held');
    await until(async () => {
      if (!client.received().includes(' 429 ')) return isFull();
      client = await askAndWait(port, '/held'); // it came while the queue was asked
      return false;
    }, 'the request to be in the queue');
    client.hangUp();
    await until(async () => !(await isFull()), 'the request to leave the queue');
    await both.release();
    await untilHeld(0);
    expect(gate.arrived).toBe(0);
  });

  it('with wait, a request that waits is denied when the application closes', async () => {
    const { app, get, service } = await start(setup, { maxWait: '1h' });
    const both = await service.hold('exports', CLIENT, { cost: 2 });
    const answer = get('/held');
    await until(async () => (await service.peek('exports', CLIENT)).retryAfterMs! > 3600e3, 'it to wait');
    await Promise.all([app.close(), answer.then(({ status }) => expect(status).toBe(429))]);
    expect(both.allowed).toBe(true);
  });

  it('permits of pipelined requests are released when their handlers have ended', async () => {
    const { port, held, untilHeld, untilClosed } = await start(setup);
    const client = await askAndWait(port, '/held', '/held');
    await until(() => gate.inside === 2, 'both requests to be in flight');
    client.hangUp();
    await untilClosed();
    expect(await held()).toBe(2);
    gate.open();
    await untilHeld(0);
  });

  it('the headers of a concurrency limit report the limit without a window', async () => {
    const { get, service } = await start(setup, { lease: '30s' });
    const other = await service.hold('exports', CLIENT);
    const answer = get('/held');
    await until(() => gate.inside === 1, 'the request to be in flight');
    const refused = await get('/held');
    gate.open();
    expect(limitHeaders(await answer)).toEqual({
      'ratelimit-policy': '"exports";q=2;qu="concurrent-requests"',
      ratelimit: '"exports";r=0;t=30',
    });
    expect(limitHeaders(refused)).toEqual({
      'ratelimit-policy': '"exports";q=2;qu="concurrent-requests"',
      ratelimit: '"exports";r=0;t=30',
      'retry-after': '30',
    });
    expect(JSON.parse(refused.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'Rule "exports" allows 2 at a time; try again in 30 s.',
      'violated-policies': ['exports'],
      retryAfterMs: 30_000,
      ...INSTANCE,
    });
    await other.release();
  });

  it('a request that takes longer than its lease keeps its permit', async () => {
    const time = new VirtualTime();
    const { get, held, untilHeld, adjusted } = await start({ ...setup, time }, { lease: '1500ms' });
    const answer = get('/held');
    await until(() => gate.inside === 1, 'the request to be in flight');
    for (let renewal = 1; renewal <= 4; renewal++) {
      time.advance(1000);
      const before = (await adjusted('renew')).length;
      await until(async () => (await adjusted('renew')).length > before, 'the lease to be renewed');
      expect(await held()).toBe(1);
    }
    gate.open();
    expect((await answer).status).toBe(200);
    await untilHeld(0);
    expect(new Set(await adjusted('renew'))).toEqual(new Set([true]));
  });
});

describe.each(FRAMEWORKS)('a limit on requests in flight of two processes, on %s', (framework) => {
  async function startTwo() {
    const place = { framework, kind: 'redis', time: new VirtualTime(), prefix: uniquePrefix() } as const;
    return { time: place.time, one: await start(place), other: await start(place) };
  }

  it('two processes share one concurrency limit', async () => {
    const { one, other } = await startTwo();
    const answers = [one.get('/held'), other.get('/held')];
    await until(() => gate.inside === 2, 'both requests to be in flight');
    expect((await one.get('/held')).status).toBe(429);
    expect((await other.get('/held')).status).toBe(429);
    gate.open();
    for (const answer of answers) expect((await answer).status).toBe(200);
    await one.untilHeld(0);
  });

  it('permits of a dead process return after its lease, and no live process loses one', async () => {
    const { time, one, other } = await startTwo();
    const late = [one.get('/held'), one.get('/held')];
    await until(() => gate.inside === 2, 'both requests to be in flight');
    time.advance(3_599_999);
    expect((await other.get('/held')).headers['retry-after']).toBe('1');
    time.advance(1);
    const held = await other.service.hold('exports', CLIENT);
    expect(held.allowed).toBe(true);
    gate.open();
    for (const answer of late) expect((await answer).status).toBe(200);
    await until(async () => (await one.adjusted('refund')).length === 2, 'the late holders to let go');
    expect(await one.adjusted('refund')).toEqual([false, false]);
    expect(await other.held()).toBe(1);
  });

  it('permits of a process that shuts down normally return at once', async () => {
    const { one, other } = await startTwo();
    const answer = one.get('/held');
    await until(() => gate.inside === 1, 'the request to be in flight');
    const closed = one.close();
    gate.open();
    expect((await answer).status).toBe(200);
    await closed;
    await other.untilHeld(0);
  });
});
