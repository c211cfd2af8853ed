import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RouteRule } from '../../lib/index.js';
import { ALLOWED, configMessage, FIELDS_OF } from '../support/config-message.js';
import { closeApps, refusalToStart } from '../support/nest-app.js';

const RULE = { window: '1m', limit: 3 } as const;
const CELLS = { ...RULE, algorithm: 'sliding-window-cells' } as const;
const BUCKET = { ...RULE, algorithm: 'token-bucket' } as const;
const QUEUE = { ...RULE, algorithm: 'leaky-bucket' } as const;
const HELD = { limit: 3, algorithm: 'concurrency' } as const;

const DAILY = { limit: 3, window: 'day', algorithm: 'fixed-window' } as const;

const AT_ONCE = 'the maximum number of permits taken at once';

/** Returns the error of an application whose only handler has this rule, whatever its type. */
function refusalOf(rule: unknown): Promise<string> {
  @Controller()
  class Routes {
    @RateLimit(rule as RouteRule)
    @Get()
    get() {}
  }
  return refusalToStart({ imports: [RateLimitModule.forRoot({})], controllers: [Routes] });
}

afterEach(closeApps);

describe('an option that makes no sense stops the app with one message that', () => {
  it.each([
    [
      'a block of nonsense',
      { ...RULE, block: '1x' },
      `block: got "1x"; allowed: ${ALLOWED.duration}; or "manual"`,
    ],
    ['a block of no time', { ...RULE, block: 0 }, `block: got 0; allowed: ${ALLOWED.duration}; or "manual"`],
    ['an unknown mode', { ...RULE, mode: 'watch' }, 'mode: got "watch"; allowed: "enforce", "shadow"'],
    [
      'an unknown owner of the counter',
      { ...RULE, per: 'process' },
      'per: got "process"; allowed: "cluster", "instance"',
    ],
    [
      'an unknown time to charge',
      { ...RULE, count: 'never' },
      'count: got "never"; allowed: "all", "failures", "successes", or a function of the result',
    ],
    [
      'a bare number for a trial',
      { ...RULE, trial: 5 },
      'trial: got 5; allowed: an object with a limit, a window or both',
    ],
    [
      'a trial that is no other limit',
      { ...RULE, trial: {} },
      'trial: got {}; allowed: an object with a limit, a window or both',
    ],
    ['a lease of no time', { ...HELD, lease: 0 }, `lease: got 0; allowed: ${ALLOWED.duration}`],
    [
      'a window for permits that are held',
      { ...HELD, window: '1m' },
      `window: no such option of concurrency; allowed: ${FIELDS_OF.concurrency}`,
    ],
    ['no cell at all', { ...CELLS, cells: 0 }, 'cells: got 0; allowed: an integer from 1 to 1000'],
    [
      'too many cells',
      { ...CELLS, limit: 5000, cells: 1001 },
      'cells: got 1001; allowed: an integer from 1 to 1000',
    ],
    [
      'a bucket of nothing',
      { ...BUCKET, burst: 0 },
      'burst: got 0; allowed: an integer from 1 to 1000000000, or the time in which the limit adds them, such as "10s"',
    ],
    [
      'an unknown way to refill',
      { ...BUCKET, refill: 'sometimes' },
      'refill: got "sometimes"; allowed: "continuous", "interval"',
    ],
    [
      'an overdraft that is a number',
      { ...BUCKET, overdraft: 5 },
      'overdraft: got 5; allowed: true or false',
    ],
    [
      'an overdraft of a queue',
      { ...QUEUE, overdraft: true },
      `overdraft: no such option of leaky-bucket; token-bucket and gcra have it; allowed: ${FIELDS_OF['leaky-bucket']}`,
    ],
    ['a warm-up of no time', { ...BUCKET, warmUp: 0 }, `warmUp: got 0; allowed: ${ALLOWED.duration}`],
    [
      'an unknown time zone',
      { ...DAILY, timeZone: 'Europe/Nowhere' },
      'timeZone: got "Europe/Nowhere"; allowed: the IANA name of a time zone, such as "UTC" or "Europe/Berlin"',
    ],
    [
      'a day that not every month has',
      { ...DAILY, window: 'month', anchor: 31 },
      'anchor: got 31; allowed: with the window "week" an ISO weekday from 1 (Monday) to 7 (Sunday), with "month" a day from 1 to 28',
    ],
    [
      'a window that the calendar does not have',
      { ...DAILY, window: 'year' },
      `window: got "year": write "365d"; allowed: ${ALLOWED.fixedWindow}`,
    ],
    [
      'a window of the calendar for an algorithm that has none',
      { ...RULE, algorithm: 'gcra', window: 'day' },
      `window: got "day": write "1d", or algorithm "fixed-window" for a calendar day; allowed: ${ALLOWED.window}`,
    ],
    ['a delay of nonsense', { ...QUEUE, maxWait: '1x' }, `maxWait: got "1x"; allowed: ${ALLOWED.duration}`],
    [
      'a queue below nothing',
      { ...QUEUE, queue: -1 },
      `queue: got -1; allowed: ${ALLOWED.count}, or the time in which the limit adds them, such as "10s"`,
    ],
  ])(
    'a message names the handler, the invalid option and the allowed values for %s',
    async (_title, rule, problem) => {
      expect(await refusalOf(rule)).toBe(configMessage(`@RateLimit on Routes.get.${problem}`));
    },
  );
});

describe('options that contradict each other stop the app with one message that', () => {
  it.each([
    [
      'too many cells of a long window',
      { ...CELLS, window: '365d', cells: 1000 },
      ': cells x window is 31536000000000000 microseconds; allowed: at most 2^53 - 1',
    ],
    [
      'a cost that no bucket holds',
      { ...BUCKET, burst: 2, cost: 3 },
      `.cost: got 3; allowed: at most 2, ${AT_ONCE}`,
    ],
    [
      'a cost beyond the burst of gcra',
      { ...BUCKET, algorithm: 'gcra', burst: 2, cost: 3 },
      `.cost: got 3; allowed: at most 2, ${AT_ONCE}`,
    ],
    [
      'a cost that no queue takes',
      { ...QUEUE, queue: 1, cost: 3 },
      `.cost: got 3; allowed: at most 2, ${AT_ONCE}`,
    ],
    [
      'more that goes at once than there is room for',
      { ...QUEUE, queue: 2, delayAfter: 3 },
      ': delayAfter is 3; allowed: at most the queue, 2',
    ],
    [
      'more that goes at once than the burst that nobody gave',
      { ...QUEUE, delayAfter: 4 },
      ': delayAfter is 4; allowed: at most the queue, 3',
    ],
    [
      'more tokens at first than the bucket holds',
      { ...BUCKET, initial: 4 },
      ': initial is 4; allowed: at most the burst, 3',
    ],
    [
      'a burst beside a warm-up',
      { ...BUCKET, warmUp: '5s', burst: 2 },
      ': burst is 2; allowed: none with warmUp, which stores time instead of tokens',
    ],
    [
      'an overdraft beside a warm-up',
      { ...BUCKET, warmUp: '5s', overdraft: true },
      ': overdraft is true; allowed: none with warmUp, which stores time instead of tokens',
    ],
    [
      'a weekday that there is not',
      { ...DAILY, window: 'week', anchor: 8 },
      ': anchor is 8; allowed with the window "week": an ISO weekday from 1 (Monday) to 7 (Sunday)',
    ],
    [
      'a time zone for a window of a length',
      { ...DAILY, window: '1d', timeZone: 'UTC' },
      ': timeZone is "UTC"; allowed: only with the window "day", "week" or "month"',
    ],
    ['a cost that can never be held', { ...HELD, cost: 4 }, `.cost: got 4; allowed: at most 3, ${AT_ONCE}`],
    [
      'more permits than a list of holders is made for',
      { ...HELD, limit: 10_001 },
      ': limit is 10001; allowed: at most 10000 permits held at a time',
    ],
    [
      'a trial that the cost never fits into',
      { ...RULE, cost: 2, trial: { limit: 1 } },
      `.trial.cost: got 2; allowed: at most 1, ${AT_ONCE}`,
    ],
    [
      'a trial below nothing',
      { ...RULE, trial: { limit: -1 } },
      `.trial.limit: got -1; allowed: ${ALLOWED.count}`,
    ],
    [
      'what contradicts whatever a limit of each request may be',
      { ...QUEUE, limit: () => 3, queue: 2, delayAfter: 3 },
      '.queue: got 2; allowed: the time in which the limit adds the permits, such as "10s", since limit is a function',
    ],
    [
      'weights of a list',
      { ...RULE, algorithm: 'gcra', by: ['x-tenant', 'ip'], share: { weights: { gold: 3 } } },
      '.share.weights: got "gold"; allowed: none with a list in `by`: a function can join its values',
    ],
    [
      'a weight of a subject that no request has',
      { ...RULE, algorithm: 'gcra', by: 'ip', share: { weights: { localhost: 3 } } },
      '.share.weights: got "localhost"; allowed: an IP address',
    ],
    [
      'a weight of a subject that no request has, by default',
      { ...RULE, algorithm: 'gcra', share: { weights: { acme: 3 } } },
      '.share.weights: got "acme"; allowed: an IP address',
    ],
    [
      'two weights of one subject',
      { ...RULE, algorithm: 'gcra', share: { weights: { '2001:db8::5': 3, '2001:db8::6': 4 } } },
      '.share.weights: got "2001:db8::6"; allowed: one weight for a subject, which "2001:db8::5" names as well',
    ],
  ])('a message names the rule and both contradictory options for %s', async (_title, rule, problem) => {
    expect(await refusalOf(rule)).toBe(configMessage(`rule "default" of Routes.get${problem}`));
  });
});
