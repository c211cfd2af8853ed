import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../support/redis/until.mjs';
import type { Application } from './started-application.js';
import type { Shutdown } from './figures.js';
import { PATIENCE_MS, tell } from './scale.js';
import { openSite, type Site } from './site.js';

/** As in faults.spec.ts: 1.1 times 50 ms, plus the delays of timers and this machine. */
const LONGEST_MS = 55 + 25;

describe('an application that shuts down under load', () => {
  let site: Site<Application>;
  beforeEach(async () => {
    site = await openSite({ isProxied: true });
    await site.application.start();
    await site.application.until(
      ({ phases }) => phases['before']!.inARow >= 200,
      'Redis to decide',
      PATIENCE_MS,
    );
  }, PATIENCE_MS);
  afterEach(() => site.close());

  const isDecided = ({ phases, underWay, settledMs, breaker, warnings, code }: Shutdown): void => {
    const { asked, decided, longestOwnWait } = phases['before']!;
    expect([decided, underWay > 0, warnings, code]).toEqual([asked, true, [], 0]);
    // An alert on the breaker would otherwise fire at every deployment.
    expect(breaker).toEqual([]);
    expect(longestOwnWait).toBeLessThan(LONGEST_MS);
    tell(`shut down with ${underWay} hits in flight: all decided after ${Math.round(settledMs)} ms`);
  };

  it('an application that shuts down under load decides the requests in flight and exits', async () => {
    isDecided(await site.application.shutDown());
  });

  it('an application that shuts down while Redis hangs decides the requests in flight and exits', async () => {
    site.proxy.each((connection) => connection.stall());
    isDecided(await site.application.shutDown());
  });

  it('an application that shuts down while the breaker is open decides the requests in flight and exits', async () => {
    await site.server.kill();
    await site.application.until(({ breaker }) => breaker.at(-1)?.state === 'open', 'the breaker to open');
    const { phases, warnings, code } = await site.application.shutDown();
    const { asked, decided } = phases['before']!;
    expect([decided, warnings, code]).toEqual([asked, [], 0]);
  });

  it('an application that shuts down leaves no connection at the server', async () => {
    await site.application.shutDown();
    await until(() => site.proxy.connections.length === 0, 'the connections to be closed');
  });
});
