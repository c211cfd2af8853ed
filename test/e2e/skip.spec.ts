import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, SkipRateLimit } from '../../lib/index.js';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { policiesOf } from '../support/route-policies.js';

const FIXED = { window: '1m', limit: 10, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

describe.each(FRAMEWORKS)('@SkipRateLimit on %s', (framework) => {
  it('@SkipRateLimit removes all or the named rules from a controller or a handler', async () => {
    const a = { ...FIXED, name: 'a', limit: 1 };
    const b = { ...FIXED, name: 'b', limit: 2 };
    @SkipRateLimit('a')
    @Controller('named')
    class SkipsNamed {
      @Get() get() {}
      @SkipRateLimit('b')
      @Get('both')
      both() {}
    }
    @SkipRateLimit()
    @Controller('all')
    class SkipsAll {
      @Get() get() {}
    }
    @RateLimit(b)
    @RateLimit(a)
    @Controller('method')
    class OnMethods {
      @SkipRateLimit()
      @Get('all')
      all() {}
      @SkipRateLimit('b')
      @Get('named')
      named() {}
      @SkipRateLimit('a', 'b')
      @Get('both')
      both() {}
    }
    const paths = ['/named', '/named/both', '/all', '/method/all', '/method/named', '/method/both'];
    const rules = { a: { ...FIXED, limit: 1 }, b: { ...FIXED, limit: 2 } };
    expect(await policiesOf(framework, [SkipsNamed, SkipsAll, OnMethods], paths, { rules })).toEqual([
      '"b";q=2;w=60',
      undefined,
      undefined,
      undefined,
      '"a";q=1;w=60',
      undefined,
    ]);
  });

  it('a rule may be named *, which stands for no other rule', async () => {
    @SkipRateLimit('*')
    @Controller()
    class Star {
      @Get() get() {}
    }
    const rules = { '*': { ...FIXED, limit: 3 }, a: { ...FIXED, limit: 1 } };
    expect(await policiesOf(framework, [Star], ['/'], { rules })).toEqual(['"a";q=1;w=60']);
  });

  it('a nearer decorator restores a skipped rule with its previous fields', async () => {
    @SkipRateLimit()
    @Controller('class')
    class Skipping {
      @RateLimit({ limit: 3 })
      @Get('back')
      back() {}
      @Get() get() {}
    }
    @Controller('same')
    class OnOneTarget {
      @SkipRateLimit()
      @RateLimit({ ...FIXED, name: 'only', limit: 4 })
      @Get()
      get() {}
    }
    const paths = ['/class/back', '/class', '/same'];
    expect(
      await policiesOf(framework, [Skipping, OnOneTarget], paths, { rules: { default: FIXED } }),
    ).toEqual(['"default";q=3;w=60', undefined, '"only";q=4;w=60']);
  });

  it('@SkipRateLimit applies although overrides change the rule', async () => {
    @Controller()
    class Health {
      @SkipRateLimit()
      @Get('health')
      health() {}
    }
    const options = { rules: { default: FIXED }, overrides: { default: { limit: 1 } } };
    expect(await policiesOf(framework, [Health], ['/health'], options)).toEqual([undefined]);
  });
});
