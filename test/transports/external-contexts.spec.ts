import { Injectable, SetMetadata, UseGuards, type CanActivate, type Provider } from '@nestjs/common';
import { APP_GUARD, ExternalContextCreator } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const MINUTE = { window: '1m', algorithm: 'fixed-window', by: 'everyone' } as const;
const HELD = { name: 'held', limit: 1, algorithm: 'concurrency', by: 'everyone' } as const;

/** Marks a method, as the libraries of queues do. */
const Consumes = SetMetadata('QUEUE_HANDLER', {});

@Injectable()
class Gatekeeper implements CanActivate {
  isOpen = false;

  canActivate() {
    return this.isOpen;
  }
}

@Injectable()
class Queue {
  readonly gate = new Gate();

  @RateLimit({ ...MINUTE, name: 'parcels', limit: 2 })
  @Consumes
  store(parcel: string) {
    return `stored ${parcel}`;
  }

  @RateLimit({ ...MINUTE, name: 'tenant', limit: 1, by: (context) => context.getArgByIndex<string>(0) })
  @Consumes
  tenant(name: string) {
    return name;
  }

  @RateLimit({ ...MINUTE, name: 'scans', limit: 1, by: { ip: 'x-real-ip' } })
  @Consumes
  scan() {
    return 'scanned';
  }

  @RateLimit({ ...MINUTE, name: 'login', limit: 1, count: 'failures' })
  @Consumes
  login(password: string) {
    if (password !== 'right') throw new Error('wrong password');
    return 'in';
  }

  @RateLimit(HELD)
  @Consumes
  async slow() {
    await this.gate.pass();
    return 'done';
  }

  @RateLimit(HELD)
  @Consumes
  fail() {
    throw new Error('broken parcel');
  }

  @RateLimit({ ...MINUTE, name: 'tried', limit: 3, count: 'failures' })
  @UseGuards(Gatekeeper)
  @Consumes
  tried() {
    return 'in';
  }

  @RateLimit(HELD)
  @UseGuards(Gatekeeper)
  @Consumes
  guarded() {
    return 'in';
  }

  @Consumes
  free() {
    return 'free';
  }
}

type Handler = (...args: unknown[]) => unknown;

/** Starts an application whose consumers are called as a library calls them: with the guards and interceptors of Nest. */
async function startQueue(
  limits: RateLimitModuleOptions = {},
  type: 'queue' | 'http' = 'queue',
  guards: readonly Provider[] = [],
) {
  const imports = [RateLimitModule.forRoot({ ...limits, registerGuard: guards.length === 0 })];
  const metadata = { imports, providers: [Queue, Gatekeeper, ...guards] };
  const { app, logs } = await startApp(metadata, { framework: 'express' });
  const queue = app.get(Queue);
  const creator = app.get(ExternalContextCreator, { strict: false });
  const deliver = async (name: Exclude<keyof Queue, 'gate'>, ...args: unknown[]): Promise<unknown> => {
    const none = undefined;
    const run = creator.create(queue, queue[name] as Handler, name, none, none, none, none, none, type);
    try {
      return (await run(...args)) as unknown;
    } catch (error) {
      return error;
    }
  };
  return { app, logs, queue, deliver };
}

const denied = (rule: string) =>
  expect.objectContaining({ status: 429, decision: expect.objectContaining({ rule, allowed: false }) });

afterEach(closeApps);

describe('a handler that a library calls through ExternalContextCreator', () => {
  it('is called up to its limit, and is denied with an exception that has the decision', async () => {
    const { deliver } = await startQueue();
    expect([await deliver('store', 'a'), await deliver('store', 'b')]).toEqual(['stored a', 'stored b']);
    expect(await deliver('store', 'c')).toEqual(denied('parcels'));
    expect(await deliver('free')).toBe('free');
  });

  it('has a counter for each subject that a function in `by` finds in its arguments', async () => {
    const { deliver } = await startQueue();
    expect([await deliver('tenant', 'ada'), await deliver('tenant', 'grace')]).toEqual(['ada', 'grace']);
    expect(await deliver('tenant', 'ada')).toEqual(denied('tenant'));
  });

  it('is counted with all callers together if its rule reads an address in a header, which is logged once', async () => {
    const { logs, deliver } = await startQueue();
    expect(await deliver('scan')).toBe('scanned');
    for (let nth = 1; nth <= 2; nth++) expect(await deliver('scan')).toEqual(denied('scans'));
    const lines = logs.ours().filter(({ message }) => message.includes('RL_CALLERS_TOGETHER'));
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining('Queue.scan')]);
  });

  it("counts for count: 'failures' if it throws, and does not count if it succeeds", async () => {
    const { deliver } = await startQueue();
    await until(async () => (await deliver('login', 'right')) === 'in', 'the first success');
    await until(async () => (await deliver('login', 'right')) === 'in', 'the refund of a success');
    const fails = async () => ((await deliver('login', 'wrong')) as Error).message === 'wrong password';
    await until(fails, 'a failure to count');
    expect(await deliver('login', 'right')).toEqual(denied('login'));
  });

  it('holds its permit until it ends, and its failure is passed on', async () => {
    const { queue, deliver } = await startQueue();
    const first = deliver('slow');
    await until(() => queue.gate.inside === 1, 'the first call');
    expect(await deliver('slow')).toEqual(denied('held'));
    queue.gate.open();
    expect(await first).toBe('done');
    for (let nth = 1; nth <= 3; nth++) {
      const isBroken = async () => ((await deliver('fail')) as Error).message === 'broken parcel';
      await until(isBroken, 'the permit of the call before');
    }
  });

  it('counts as a failure if a later guard denies it', async () => {
    const { deliver } = await startQueue();
    const messages = [];
    for (let nth = 1; nth <= 3; nth++) messages.push(((await deliver('tried')) as Error).message);
    expect(messages).toEqual(Array(3).fill('Forbidden resource'));
    expect(await deliver('tried')).toEqual(denied('tried'));
  });

  it('takes no permit if a later guard denies it', async () => {
    const { app, deliver } = await startQueue();
    for (let nth = 1; nth <= 3; nth++) {
      expect(await deliver('guarded')).toMatchObject({ message: 'Forbidden resource' });
    }
    app.get(Gatekeeper).isOpen = true;
    expect(await deliver('guarded')).toBe('in');
  });

  it("is not limited by the module's rules, unless `transports` has 'other'", async () => {
    const rules = { default: { ...MINUTE, limit: 1 } };
    const plain = await startQueue({ rules });
    for (let nth = 1; nth <= 3; nth++) expect(await plain.deliver('free')).toBe('free');
    const limited = await startQueue({ rules, transports: ['other'] });
    expect(await limited.deliver('free')).toBe('free');
    expect(await limited.deliver('free')).toEqual(denied('default'));
  });

  it('is not limited by its decorator if a hook of the guard skips the call', async () => {
    class SkipsAll extends RateLimitGuard {
      protected override shouldSkip() {
        return true;
      }
    }
    const guard = { provide: APP_GUARD, useClass: SkipsAll };
    const { deliver } = await startQueue({}, 'queue', [guard]);
    for (let nth = 1; nth <= 4; nth++) expect(await deliver('store', 'a')).toBe('stored a');
  });

  it('is no HTTP request if the library states no type of its context, which is that of HTTP then', async () => {
    const { deliver } = await startQueue({ rules: { default: { window: '1h', limit: 1 } } }, 'http');
    for (let nth = 1; nth <= 3; nth++) expect(await deliver('free')).toBe('free');
    expect([await deliver('store', 'a'), await deliver('store', 'b')]).toEqual(['stored a', 'stored b']);
    expect(await deliver('store', 'c')).toEqual(denied('parcels'));
  });

  it('is no HTTP request if the second argument of such a library is an object', async () => {
    const { deliver } = await startQueue({ rules: { default: { window: '1h', limit: 1 } } }, 'http');
    for (let nth = 1; nth <= 3; nth++) expect(await deliver('free', 'a', { ack: true })).toBe('free');
    for (let nth = 1; nth <= 2; nth++) expect(await deliver('store', 'a', { ack: true })).toBe('stored a');
    expect(await deliver('store', 'c', { ack: true })).toEqual(denied('parcels'));
  });
});
