import { setImmediate } from 'node:timers/promises';
import { Controller, Injectable, UseGuards, type CanActivate } from '@nestjs/common';
import {
  Ctx,
  EventPattern,
  KafkaContext,
  MessagePattern,
  MqttContext,
  NatsContext,
  Payload,
  RmqContext,
  Server,
  type BaseRpcContext,
  type CustomStrategy,
  type CustomTransportStrategy,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Gate } from '../support/gate.js';
import { LogLines } from '../support/log-lines.js';
import { until } from '../support/redis/until.mjs';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;
const depot = { gate: new Gate(), events: 0, archived: 0 };

/** Returns who sent a message, as each broker states it. */
function senderOf(context: BaseRpcContext): string {
  if (context instanceof KafkaContext) return String(context.getMessage().key);
  if (context instanceof RmqContext) {
    const { properties } = context.getMessage() as { properties: { appId: string } };
    return properties.appId;
  }
  if (context instanceof NatsContext) return (context.getHeaders() as Map<string, string>).get('sender')!;
  if (context instanceof MqttContext) return context.getTopic().split('/')[1]!;
  throw new Error('another context');
}

@Controller()
class Depot {
  @RateLimit({ ...MINUTE, name: 'sum', limit: 2, by: 'everyone' })
  @MessagePattern('sum')
  sum(@Payload() numbers: number[], @Ctx() _context: BaseRpcContext) {
    return numbers.reduce((total, each) => total + each, 0);
  }

  @RateLimit({
    ...MINUTE,
    name: 'sender',
    limit: 1,
    by: (context) => senderOf(context.switchToRpc().getContext()),
  })
  @MessagePattern('sender')
  sender(@Ctx() context: BaseRpcContext) {
    return senderOf(context);
  }

  @RateLimit({ ...MINUTE, name: 'login', limit: 1, by: 'everyone', count: 'failures' })
  @MessagePattern('login')
  login(@Payload() password: string) {
    if (password !== 'right') throw new Error('wrong password');
    return 'in';
  }

  @RateLimit({ name: 'slow', limit: 1, algorithm: 'concurrency', by: 'everyone' })
  @MessagePattern('slow')
  async slow() {
    await depot.gate.pass();
    return 'done';
  }

  @RateLimit({ ...MINUTE, name: 'stored', limit: 2, by: 'everyone' })
  @EventPattern('stored')
  stored(@Payload() _parcel: unknown) {
    depot.events += 1;
  }

  @RateLimit({ ...MINUTE, name: 'moved', limit: 1, by: 'everyone' })
  @EventPattern('moved')
  moved(@Payload() _parcel: unknown) {
    depot.events += 1;
  }
}

/** Allows every event, later than a limit denies one. */
@Injectable()
class Slow implements CanActivate {
  async canActivate() {
    await setImmediate();
    return true;
  }
}

@Controller()
class Archive {
  @UseGuards(Slow)
  @EventPattern('moved')
  archive(@Payload() _parcel: unknown) {
    depot.archived += 1;
  }
}

/** Delivers messages to the handlers of Nest without a broker, with the context that the transport of the broker makes. */
class Deliveries extends Server implements CustomTransportStrategy {
  listen(started: () => void): void {
    started();
  }

  close(): void {}

  on(): void {}

  unwrap(): never {
    throw new Error('there is no broker');
  }

  async deliver(pattern: string, data: unknown, context: BaseRpcContext): Promise<unknown> {
    const result = this.transformToObservable(await this.getHandlerByPattern(pattern)!(data, context));
    // As the transport of Kafka awaits events: one without a value is an error, so that Kafka delivers it again.
    return lastValueFrom(result).catch((error: unknown) => ({ error }));
  }
}

const CONTEXTS: Record<string, (pattern: string, sender: string) => BaseRpcContext> = {
  Kafka: (pattern, sender) =>
    new KafkaContext([
      { key: Buffer.from(sender), headers: {} } as never,
      0,
      pattern,
      {} as never,
      async () => {},
      {} as never,
    ]),
  RabbitMQ: (pattern, sender) => new RmqContext([{ properties: { appId: sender }, fields: {} }, {}, pattern]),
  NATS: (pattern, sender) => new NatsContext([pattern, new Map([['sender', sender]])]),
  MQTT: (pattern, sender) => new MqttContext([`${pattern}/${sender}`, {}]),
};

const running: { close(): Promise<void> }[] = [];

async function start(onDeniedEvent: 'drop' | 'throw' = 'drop') {
  Object.assign(depot, { gate: new Gate(), events: 0, archived: 0 });
  const deliveries = new Deliveries();
  const logs = new LogLines();
  const imports = [RateLimitModule.forRoot({ onDeniedEvent })];
  const module = await Test.createTestingModule({ imports, controllers: [Depot, Archive] })
    .setLogger(logs)
    .compile();
  const options: CustomStrategy = { strategy: deliveries };
  const settings: object = options;
  const app = module.createNestMicroservice(settings);
  await app.listen();
  running.push(app);
  return { app, logs, deliveries };
}

afterEach(async () => {
  depot.gate.open();
  for (const app of running.splice(0)) await app.close();
});

const problem = (rule: string) => ({
  error: expect.objectContaining({ status: 429, 'violated-policies': [rule] }),
});

describe.each(Object.entries(CONTEXTS))('messages with the context of %s', (_, contextOf) => {
  const startDepot = async (onDeniedEvent?: 'drop' | 'throw') => {
    const started = await start(onDeniedEvent);
    const send = (pattern: string, data: unknown, sender = 'ada') =>
      started.deliveries.deliver(pattern, data, contextOf(pattern, sender));
    return { ...started, send };
  };

  it('are allowed up to the limit, and a denied one is answered with problem details', async () => {
    const { send } = await startDepot();
    expect([await send('sum', [1, 2]), await send('sum', [3, 4])]).toEqual([3, 7]);
    expect(await send('sum', [5, 6])).toEqual(problem('sum'));
  });

  it('are counted for each sender by a function that reads the context', async () => {
    const { send } = await startDepot();
    expect([await send('sender', 0, 'ada'), await send('sender', 0, 'grace')]).toEqual(['ada', 'grace']);
    expect(await send('sender', 0, 'ada')).toEqual(problem('sender'));
  });

  it("count for count: 'failures' where the handler throws", async () => {
    const { send } = await startDepot();
    expect(await send('login', 'right')).toBe('in');
    await until(async () => (await send('login', 'right')) === 'in', 'the refund of a success');
    const fails = async () =>
      ((await send('login', 'wrong')) as { error: { message?: string } }).error.message;
    await until(async () => (await fails()) === 'Internal server error', 'a failure to count');
    expect(await send('login', 'right')).toEqual(problem('login'));
  });

  it('release their permit when the handler ends', async () => {
    const { send } = await startDepot();
    const first = send('slow', 0);
    await until(() => depot.gate.inside === 1, 'the first message');
    expect(await send('slow', 0)).toEqual(problem('slow'));
    depot.gate.open();
    expect(await first).toBe('done');
    await until(async () => {
      let isDone = false;
      const next = send('slow', 0).finally(() => (isDone = true));
      await until(() => depot.gate.inside === 1 || isDone, 'the next message');
      depot.gate.open();
      return (await next) === 'done';
    }, 'the permit');
  });

  it('are dropped if they are denied events, so that the broker does not deliver them again', async () => {
    const { app, send, logs } = await startDepot();
    const denied: string[] = [];
    app
      .get(RateLimiter)
      .events.on('decision', ({ decision }) => denied.push(decision.rule), { only: 'denied' });
    for (let nth = 1; nth <= 4; nth++) expect(await send('stored', nth)).toBeUndefined();
    expect(denied).toEqual(['stored', 'stored']);
    expect(depot.events).toBe(2);
    expect(logs.ours().filter(({ message }) => message.includes('RL_EVENT_DENIED'))).toHaveLength(1);
  });

  it('are handled by the other handlers of an event that one handler is denied', async () => {
    const { send } = await startDepot();
    for (let nth = 1; nth <= 3; nth++) expect(await send('moved', nth)).not.toHaveProperty('error');
    expect(depot).toMatchObject({ events: 1, archived: 3 });
  });

  it("are an error for the transport if they are denied events and onDeniedEvent is 'throw'", async () => {
    const { send } = await startDepot('throw');
    for (let nth = 1; nth <= 2; nth++) expect(await send('stored', nth)).toBeUndefined();
    expect(await send('stored', 3)).toEqual(problem('stored'));
    expect(depot.events).toBe(2);
  });
});
