import { expect, it } from '@jest/globals';
import { everyRule } from './every-algorithm.js';
import { scenario } from './scenario.js';

scenario('50 per 5 s, asked 500 times at once', (fresh) => {
  it.each(everyRule({ limit: 50, window: '5s' }))(
    '$algorithm allows exactly 50 of a stampede',
    async (rule) => {
      expect(await fresh().admittedOf(500, rule)).toBe(50);
    },
  );
});

scenario('5 per 60 s, asked 15 times within one millisecond', (fresh) => {
  it.each(everyRule({ limit: 5, window: '60s' }))(
    '$algorithm allows exactly 5 requests of one client at once',
    async (rule) => {
      const { admittedOf, goTo } = fresh();
      let admitted = 0;
      for (let ask = 0; ask < 15; ask++) {
        goTo(ask / 15);
        admitted += await admittedOf(1, rule);
      }
      expect(admitted).toBe(5);
    },
  );
});

scenario('100 per IP a minute', (fresh) => {
  it.each(everyRule({ limit: 100, window: '1m' }))(
    '$algorithm allows exactly 100 requests of each client, however many the others send',
    async (rule) => {
      const { admittedOf } = fresh();
      const ips = ['203.0.113.7', '203.0.113.8', '2001:db8::/64'];
      const admitted = await Promise.all(ips.map((ip, index) => admittedOf(101 + 50 * index, rule, ip)));
      expect(admitted).toEqual([100, 100, 100]);
    },
  );
});
