import { Controller, Get, type Type } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, FRAMEWORKS, refusalToStart } from '../support/nest-app.js';
import { policiesOf } from '../support/route-policies.js';

const FIXED = { window: '1m', limit: 10, algorithm: 'fixed-window' } as const;

afterEach(closeApps);

describe.each(FRAMEWORKS)('layers of rules on %s', (framework) => {
  const policies = (controllers: Type[], paths: string[], options: RateLimitModuleOptions = {}) =>
    policiesOf(framework, controllers, paths, options);

  it("a rule on a method overrides the controller's and the module's, field by field", async () => {
    @Controller('plain')
    class Plain {
      @Get() get() {}
    }
    @RateLimit({ limit: 20 })
    @Controller('class')
    class OnClass {
      @Get() get() {}
      @RateLimit({ window: '2m' })
      @Get('method')
      method() {}
    }
    const paths = ['/plain', '/class', '/class/method'];
    expect(await policies([Plain, OnClass], paths, { rules: { default: FIXED } })).toEqual([
      '"default";q=10;w=60',
      '"default";q=20;w=60',
      '"default";q=20;w=120',
    ]);
  });

  it('a rule with another name is added to inherited rules', async () => {
    @RateLimit({ ...FIXED, name: 'class', limit: 20 })
    @Controller()
    class Adding {
      @RateLimit({ ...FIXED, name: 'method', limit: 30 })
      @Get()
      get() {}
    }
    expect(await policies([Adding], ['/'], { rules: { module: FIXED } })).toEqual([
      '"module";q=10;w=60, "class";q=20;w=60, "method";q=30;w=60',
    ]);
  });

  it('several decorators on one target all apply', async () => {
    @RateLimit({ ...FIXED, name: 'a', limit: 1 })
    @RateLimit({ ...FIXED, name: 'b', limit: 2 })
    @Controller()
    class Twice {
      @RateLimit({ ...FIXED, name: 'c', limit: 3 })
      @RateLimit({ ...FIXED, name: 'd', limit: 4 })
      @Get()
      get() {}
    }
    expect(await policies([Twice], ['/'])).toEqual([
      '"a";q=1;w=60, "b";q=2;w=60, "c";q=3;w=60, "d";q=4;w=60',
    ]);
  });

  it('the option `defaults` sets the fields that rules omit', async () => {
    @Controller()
    class Short {
      @RateLimit({ limit: 3 })
      @Get('default')
      default() {}
      @RateLimit({ name: 'login', limit: 4, window: '1h' })
      @Get('login')
      login() {}
    }
    expect(await policies([Short], ['/default', '/login'], { defaults: { window: '90s' } })).toEqual([
      '"default";q=3;w=90',
      '"login";q=4;w=3600',
    ]);
  });

  it('a layer with another algorithm removes the options of the previous algorithm', async () => {
    @RateLimit({ limit: 10, window: '10s', algorithm: 'token-bucket', burst: 20 })
    @Controller()
    class Bucket {
      @Get('bucket') bucket() {}
      @RateLimit({ algorithm: 'sliding-window-log' })
      @Get('log')
      log() {}
      @RateLimit({ limit: 5 })
      @Get('slower')
      slower() {}
    }
    expect(await policies([Bucket], ['/bucket', '/log', '/slower'])).toEqual([
      '"default";q=20;w=20',
      '"default";q=10;w=10',
      '"default";q=20;w=40',
    ]);
  });

  it('a layer with concurrency removes the window', async () => {
    @Controller()
    class Reports {
      @RateLimit({ algorithm: 'concurrency', limit: 2 })
      @Get('nearer')
      nearer() {}
      @RateLimit({ name: 'seats', algorithm: 'concurrency', limit: 3 })
      @Get('filled')
      filled() {}
    }
    const options: RateLimitModuleOptions = {
      rules: { default: FIXED },
      defaults: { window: '1h' },
    };
    expect(await policies([Reports], ['/nearer', '/filled'], options)).toEqual([
      '"default";q=2;qu="concurrent-requests"',
      '"seats";q=3;qu="concurrent-requests", "default";q=10;w=60',
    ]);
  });

  it('controllers that extend a limited one inherit its rules', async () => {
    @RateLimit(FIXED)
    class Base {
      @Get('inherited') inherited() {}
      @RateLimit({ limit: 2 })
      @Get('own')
      own() {}
    }
    @Controller('plain')
    class Plain extends Base {}
    @RateLimit({ limit: 30, window: '2m' })
    @Controller('stricter')
    class Stricter extends Base {}
    const paths = ['/plain/inherited', '/plain/own', '/stricter/inherited', '/stricter/own'];
    expect(await policies([Plain, Stricter], paths)).toEqual([
      '"default";q=10;w=60',
      '"default";q=2;w=60',
      '"default";q=30;w=120',
      '"default";q=2;w=120',
    ]);
  });

  it('overrides take precedence over all other layers', async () => {
    @RateLimit({ limit: 20 })
    @Controller()
    class Overridden {
      @RateLimit({ limit: 30 })
      @RateLimit({ ...FIXED, name: 'other', limit: 40 })
      @Get()
      get() {}
    }
    const options = {
      rules: { default: FIXED },
      overrides: { default: { limit: 7 }, other: { window: '5s' } },
    };
    expect(await policies([Overridden], ['/'], options)).toEqual(['"default";q=7;w=60, "other";q=40;w=5']);
  });
});

describe('two rules of one name on one target', () => {
  it('two rules with the same name on one target stop the application', async () => {
    @RateLimit(FIXED)
    @RateLimit({ ...FIXED, limit: 5 })
    @Controller()
    class Doubled {
      @RateLimit({ ...FIXED, name: 'x' })
      @RateLimit({ ...FIXED, name: 'x', limit: 5 })
      @Get()
      get() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot({})], controllers: [Doubled] };
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        '@RateLimit on Doubled: two rules named "default"; give one another name',
        '@RateLimit on Doubled.get: two rules named "x"; give one another name',
      ),
    );
  });
});
