import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Consumer } from './consumer.js';
import { packTarball } from './tarball.js';

jest.setTimeout(300_000);

interface Line {
  readonly style: string;
  /** The headers of an allowed request, of one under two rules, and of a denied one, as a strict parser reads them. */
  readonly read: readonly Readonly<Record<string, unknown>>[];
  readonly ours?: readonly Readonly<Record<string, string>>[];
  readonly theirs?: readonly Readonly<Record<string, string>>[];
}

const NAME = 'a "b" \\ c';

/** The members of `RateLimit` and `RateLimit-Policy` in the drafts from 8, by the names of their parameters. */
function named(left: string, time: string, cost?: string): readonly unknown[] {
  const of = (permits: number, wait: number, taken: number): object => ({
    [left]: permits,
    [time]: wait,
    ...(cost !== undefined && { [cost]: taken }),
  });
  const policy = [['default', { q: 2, w: 60 }]];
  const held = [NAME, { q: 2, qu: 'concurrent-requests' }];
  return [
    { 'ratelimit-policy': policy, ratelimit: [['default', of(1, 30, 1)]] },
    {
      'ratelimit-policy': [...policy, held],
      ratelimit: [
        ['default', of(1, 30, 1)],
        [NAME, of(1, 30, 1)],
      ],
      ...(cost !== undefined && { 'ratelimit-partition': [[NAME, { user_id: true }]] }),
    },
    {
      'ratelimit-policy': policy,
      ratelimit: [['default', of(0, expect.any(Number) as never, 0)]],
      'retry-after': 60,
    },
  ];
}

describe('the headers of each style', () => {
  const lines = new Map<string, Line>();
  let tarball: string;
  let consumer: Consumer;

  beforeAll(async () => {
    tarball = await packTarball();
    consumer = await Consumer.install(tarball, 'header-parsers');
    const printed = (await consumer.run("require('./main.cjs')")).trim().split('\n');
    for (const line of printed.map((text) => JSON.parse(text) as Line)) lines.set(line.style, line);
  });

  afterAll(async () => {
    await consumer.remove();
    await rm(dirname(tarball), { recursive: true, force: true });
  });

  it('of the drafts from 8 are lists that a strict parser of structured fields reads', () => {
    expect(lines.get('draft-10')!.read).toEqual(named('r', 't'));
    expect(lines.get('draft')!.read).toEqual(named('r', 't'));
    expect(lines.get('draft-12')!.read).toEqual(named('a', 'w', 'c'));
  });

  it('of the other styles are read by a strict parser as well', () => {
    expect(lines.get('draft-7')!.read[0]).toEqual({
      'ratelimit-policy': [[2, { w: 60 }]],
      ratelimit: { limit: 2, remaining: 1, reset: 60 },
    });
    for (const [style, prefix] of [
      ['draft-6', 'ratelimit'],
      ['legacy', 'x-ratelimit'],
      ['throttler', 'x-ratelimit'],
    ] as const) {
      const [first] = lines.get(style)!.read;
      expect(first).toMatchObject({ [`${prefix}-limit`]: 2, [`${prefix}-remaining`]: 1 });
    }
  });

  it.each(['draft-7', 'draft-6'])('of %s are those that express-rate-limit sends', (style) => {
    const { ours, theirs } = lines.get(style)!;
    expect(ours).toEqual(theirs);
  });

  it('of the style legacy are those that express-rate-limit sends, with the same instant', () => {
    const { ours, theirs } = lines.get('legacy')!;
    for (const [index, { 'x-ratelimit-reset': instant, ...others }] of ours!.entries()) {
      const { 'x-ratelimit-reset': theirInstant, ...theirOthers } = theirs![index]!;
      expect(others).toEqual(theirOthers);
      expect(Math.abs(Number(instant) - Number(theirInstant))).toBeLessThanOrEqual(2);
    }
  });
});
