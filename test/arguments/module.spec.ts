import { Controller, Get, Injectable, Module, type DynamicModule } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import {
  RateLimit,
  RateLimitConfigError,
  RateLimitModule,
  RateLimitService,
  SkipRateLimit,
} from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';
import { faultOf, NO_OBJECTS } from './refusal.js';

const ONE = { window: '1m', limit: 1 } as const;

afterEach(closeApps);

/** The problems because of which an application does not start. */
async function problemsOf(limits: unknown): Promise<string> {
  return refusalToStart({ imports: [limits as DynamicModule] });
}

const root = (options: unknown) => RateLimitModule.forRoot(options as object);
const later = (options: unknown) => RateLimitModule.forRootAsync(options as { useFactory: () => object });
const useFactory = () => ({ rules: { default: ONE } });

describe('an argument of forRootAsync that Nest would ignore', () => {
  it.each(['rules', 'redis', 'onDemand', 'overrides', 'defaults', 'headers', 'timeout', 'warnings'])(
    'stops the application when it is an option, %s, and names the factory',
    async (name) => {
      expect(await problemsOf(later({ useFactory, [name]: {} }))).toBe(
        configMessage(
          `${name}: beside the factory it has no effect; return it from the factory: () => ({ ${name}: … })`,
        ),
      );
    },
  );

  const ALLOWED =
    'useFactory, useClass, useExisting, inject, imports, provideInjectionTokensFrom, isGlobal, registerGuard, registerFilter';

  it('an unknown option stops the application, and the message contains the nearest one', async () => {
    expect(await problemsOf(later({ useFactory, registerGaurd: false }))).toBe(
      configMessage(
        `registerGaurd: no such option of forRootAsync: did you mean "registerGuard"?; allowed: ${ALLOWED}`,
      ),
    );
  });

  it.each<[string, object, string]>([
    ['no factory', {}, 'got none of them; allowed: one of them'],
    ['two', { useFactory, useClass: Date }, 'got useFactory and useClass; allowed: one of them'],
  ])('stops the application for %s', async (_title, options, problem) => {
    expect(await problemsOf(later(options))).toBe(
      configMessage(`useFactory, useClass, useExisting: ${problem}`),
    );
  });

  it('stops the application for `inject` without a factory', async () => {
    class Options {
      createRateLimitOptions = useFactory;
    }
    expect(await problemsOf(later({ useClass: Options, inject: ['x'] }))).toContain(
      'inject: has no effect without useFactory',
    );
  });

  it.each(['useClass', 'useExisting'])('stops the application when %s makes no options', async (name) => {
    @Injectable()
    class Wrong {
      createOptions = useFactory;
    }
    @Module({ providers: [Wrong], exports: [Wrong] })
    class Feature {}
    expect(await problemsOf(later({ imports: [Feature], [name]: Wrong }))).toBe(
      configMessage(
        'useClass, useExisting: got a class without the method createRateLimitOptions, which returns the options',
      ),
    );
  });

  it.each(['useClass', 'useExisting'])('an option is ignored by none when %s makes options', async (name) => {
    @Injectable()
    class Options {
      private readonly rules = { default: ONE };
      createRateLimitOptions() {
        return { rules: this.rules };
      }
    }
    @Module({ providers: [Options], exports: [Options] })
    class Feature {}
    const limits = later({ imports: [Feature], [name]: Options });
    const { app } = await startApp({ imports: [limits] }, { framework: 'express' });
    expect(await app.get(RateLimitService).peek('default', '::1')).toMatchObject({ limit: 1 });
  });

  it.each([
    [{ useFactory: ONE }],
    [{ useClass: 'Options' }],
    [{ useFactory, inject: 'x' }],
    [{ useFactory, imports: Date }],
    [{ useFactory, inject: null }],
    ...NO_OBJECTS.map((options) => [options]),
    [undefined],
  ])('stops the application when it is of another kind: %p', async (options) => {
    expect(await faultOf(async () => startApp({ imports: [later(options)] }, { framework: 'express' }))).toBe(
      'none',
    );
  });
});

describe.each<[string, (extras: object) => DynamicModule]>([
  ['forRoot', (extras) => root({ rules: { default: ONE }, ...extras })],
  ['forRootAsync', (extras) => later({ useFactory, ...extras })],
])('an extra option of %s', (_name, make) => {
  it.each(['isGlobal', 'registerGuard', 'registerFilter'])(
    'stops the application when %s is neither true nor false',
    async (name) => {
      expect(await problemsOf(make({ [name]: 'false' }))).toBe(
        configMessage(`${name}: got "false": write false without quotes; allowed: true or false`),
      );
      for (const wrong of [null, 0, 1, {}, () => false]) {
        expect(await problemsOf(make({ [name]: wrong }))).toContain(`${name}: got `);
      }
    },
  );
});

describe('the options of forRoot', () => {
  it('may be left out', async () => {
    const { app } = await startApp({ imports: [RateLimitModule.forRoot()] }, { framework: 'express' });
    expect(await app.get(RateLimitService).consume({ name: 'x', ...ONE }, 'ann')).toMatchObject({
      allowed: true,
    });
  });

  it.each(NO_OBJECTS.filter((value) => !Array.isArray(value) || value.length > 0).map((value) => [value]))(
    'stop the application when they are no object: %p',
    async (options) => {
      expect(await problemsOf(root(options))).toContain('the options of RateLimitModule: got ');
    },
  );

  it('stop the application when they are a Promise, and name forRootAsync', async () => {
    expect(await problemsOf(root(Promise.resolve({})))).toBe(
      configMessage(
        'the options of RateLimitModule: got a Promise: write forRootAsync({ useFactory: () => … }); allowed: an object',
      ),
    );
  });

  it.each(['useFactory', 'useClass', 'useExisting'])(
    'stop the application when they have %s, which is for forRootAsync',
    async (name) => {
      expect(await problemsOf(root({ [name]: useFactory }))).toBe(
        configMessage(`${name}: no option of forRoot; write forRootAsync({ ${name}: … })`),
      );
    },
  );
});

/** Invalid values of every option of the module. */
const WRONG: Record<string, readonly unknown[]> = {
  redis: ['', 5, true, {}, () => 'redis://localhost', new URL('redis://localhost'), Symbol('redis')],
  rules: [5, 'x', [], { login: 5 }, { login: null }, { login: undefined }, { login: [] }, new Map()],
  onDemand: [5, 'x', [], { login: 5 }, { login: undefined }],
  overrides: [5, 'x', [], { login: 5 }, { login: undefined }],
  defaults: [5, 'x', [], { limt: 5 }, { name: 'x' }, new Map()],
  headers: [true, 'x', 5, {}, ['x'], [['legacy']]],
  body: [{}, 'x', null],
  prefix: [5, 'a b', null],
  onStoreError: ['Deny', true, null],
  health: [true, { fallbackIsUp: true }, { fallbackIsDown: 'true' }, []],
  instances: [0, '0', '1.5', 'four', null, true, {}],
  denyCache: ['false', 0, null],
  timeout: [0, '50ms', '5e1', Infinity, null],
  maxKeys: [0, -1, '1e5', null],
  warnings: ['false', { RL_X: false }, { RL_NO_RULES: 'false' }, null],
};

describe('a wrong value of an option stops the application, and the message states what is allowed', () => {
  const cases = Object.entries(WRONG).flatMap(([name, values]) =>
    values.map((value) => ({ name, value, shown: inspect(value) })),
  );

  it.each(cases)('$name: $shown', async ({ name, value }) => {
    const options = { rules: { default: ONE }, [name]: value };
    const start = () => startApp({ imports: [root(options)] }, { framework: 'express' });
    expect(await faultOf(start)).toBe('none');
  });

  it('the message names each rule that is not an object', async () => {
    expect(await problemsOf(root({ rules: { login: undefined, mail: 5, ok: ONE } }))).toBe(
      configMessage(
        'rules.login: got undefined; allowed: an object with fields of a rule, such as { login: { limit: 5 } }',
        'rules.mail: got 5; allowed: an object with fields of a rule, such as { login: { limit: 5 } }',
      ),
    );
  });
});

describe('counts that are strings of digits', () => {
  it('are read in every option that is a count', async () => {
    const options = { rules: { default: ONE }, instances: '4', timeout: '60', maxKeys: '5' };
    const { app } = await startApp({ imports: [root(options)] }, { framework: 'express' });
    expect(app.get(RateLimitService).instanceCount).toBe(4);
  });
});

describe('RateLimitModule without forRoot', () => {
  const REFUSAL = configMessage(
    'RateLimitModule: imported without options; write RateLimitModule.forRoot({ … }) in the root module, and ' +
      'remove it from other modules: it is global',
  );

  it('stops the application', async () => {
    expect(await refusalToStart({ imports: [RateLimitModule] })).toBe(REFUSAL);
  });

  it('stops the application beside one with options', async () => {
    @Module({ imports: [RateLimitModule] })
    class Feature {}
    expect(await refusalToStart({ imports: [root({ rules: { default: ONE } }), Feature] })).toBe(REFUSAL);
  });
});

describe('a decorator', () => {
  const NAMED = 'the name of a rule and an object of fields, or a window such as "1m" and a limit';
  const decorate = RateLimit as (...args: readonly unknown[]) => ClassDecorator & MethodDecorator;
  const refusalOf = (...args: readonly unknown[]) => {
    @Controller()
    class Routes {
      @Get() get() {}
    }
    decorate(...args)(Routes);
    const options = { onDemand: { login: ONE } };
    return refusalToStart({ imports: [root(options)], controllers: [Routes] });
  };

  it.each<[readonly unknown[], string]>([
    [[ONE, { limit: 5 }], 'got {"limit":5} as argument 2; allowed: a rule'],
    [[100, '1m'], `got "1m" as argument 2; allowed: a rule; write @RateLimit('1m', 100)`],
    [
      [60, 5],
      `got 5 as argument 2; allowed: a rule, or a window with its unit and a limit: @RateLimit('5s', 60) or @RateLimit('60s', 5)`,
    ],
    [['login', 5], `got 5 as argument 2; allowed: ${NAMED}`],
    [['login', '1m', 5], `got 5 as argument 3; allowed: ${NAMED}`],
    [['login', 'gcra'], `got "gcra" as argument 2; allowed: ${NAMED}`],
    [['0s', 5], `got 5 as argument 2; allowed: ${NAMED}`],
    [['1 minute', 5], `got 5 as argument 2: for a window write "1m"; allowed: ${NAMED}`],
    [
      ['1m', 5, 'gcra', { by: 'user' }, 5],
      'got 5 as argument 5; allowed: a window, a limit, an algorithm and an object of fields',
    ],
    [
      ['1m', 5, { by: 'user' }],
      'got {"by":"user"} as argument 3: write @RateLimit({ window, limit, ... }); allowed: a window, a limit, an algorithm and an object of fields',
    ],
    [
      ['1m', 5, 'gcra', 'user'],
      'got "user" as argument 4; allowed: a window, a limit, an algorithm and an object of fields',
    ],
  ])('stops the application for arguments that it would ignore: %j', async (args, problem) => {
    expect(await refusalOf(...args)).toBe(configMessage(`@RateLimit on Routes: ${problem}`));
  });

  it.each([[], [undefined], [null], [5], [true], [[ONE]], [() => ONE], ['1m'], ['1m', '5 requests'], ['']])(
    'a value that is not a rule stops the application: %j',
    async (...args) => {
      expect(await refusalOf(...(args as unknown[]))).toContain('Rate limit configuration is wrong');
    },
  );

  const member = (name: string) => `on Mailer.${name}: `;
  const ONLY = 'so no guard limits it; allowed: methods that handle requests';

  it.each<[string, () => unknown, string]>([
    [
      'a static method',
      () => {
        class Mailer {
          @RateLimit(ONE)
          static send() {}
          other() {}
        }
        return Mailer;
      },
      `@RateLimit ${member('send')}a static member, ${ONLY}`,
    ],
    [
      'a static method, with @SkipRateLimit',
      () => {
        class Mailer {
          @SkipRateLimit()
          static send() {}
          other() {}
        }
        return Mailer;
      },
      `@SkipRateLimit ${member('send')}a static member, ${ONLY}`,
    ],
    [
      'a getter',
      () => {
        class Mailer {
          @RateLimit(ONE)
          get send() {
            return () => undefined;
          }
        }
        return Mailer;
      },
      `@RateLimit ${member('send')}no method with a name, ${ONLY}`,
    ],
    [
      'a method whose name is a symbol',
      () => {
        class Mailer {
          @RateLimit(ONE)
          [Symbol.iterator]() {}
        }
        return Mailer;
      },
      `@RateLimit ${member('Symbol(Symbol.iterator)')}no method with a name, ${ONLY}`,
    ],
    [
      'a property',
      () => {
        class Mailer {
          send = () => undefined;
        }
        (decorate(ONE) as PropertyDecorator)(Mailer.prototype, 'send');
        return Mailer;
      },
      `@RateLimit ${member('send')}no method with a name, ${ONLY}`,
    ],
  ])('throws on %s', (_title, declare, problem) => {
    expect(declare).toThrow(new RateLimitConfigError([problem]));
  });
});
