import { describe, expect, it, jest } from '@jest/globals';
import { compileRule } from '../../rules/compile-rule.js';
import { RateLimiter } from '../../limiter/rate-limiter.js';
import type { AnyRule } from '../../rules/rule.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import type { Exchange } from './exchange.js';
import { Warnings } from '../warnings.js';
import { Admission } from './admission.js';
import type { Responder } from './responder.js';
import type { Route } from './routes.js';
import '../../algorithms/registry.js';

const warnings = new Warnings({ warnings: { RL_NEVER_SETTLED: false } });

const MESSAGE = { gone: () => undefined } as unknown as Exchange;
const SILENT = { respond: () => undefined } as unknown as Responder;
const deny = () => Promise.reject(new Error('denied'));

describe('a message that has no response to wait for', () => {
  it('is delayed until its turn', async () => {
    const queue: AnyRule = { window: '1s', limit: 20, algorithm: 'leaky-bucket' };
    const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => 0 }) });
    const delay = jest
      .spyOn(limiter.engine, 'delay')
      .mockImplementation((decision) => Promise.resolve(decision));
    const admission = new Admission(limiter.engine, SILENT, warnings);
    const hits = limiter.engine.keyed(compileRule(queue)).hits('queue');
    for (let nth = 1; nth <= 3; nth++) {
      await admission.enter(
        { limits: [{ apply: () => hits, checks: new Set() }], settles: false } as unknown as Route,
        MESSAGE,
        deny,
      );
    }
    expect(delay.mock.calls.map(([{ delayMs }]) => delayMs)).toEqual([50, 100]);
  });
});
