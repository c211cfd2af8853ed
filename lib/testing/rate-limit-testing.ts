import type { DecideOptions, Hit } from '../contracts/store.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { UnlimitedStore } from '../stores/memory/unlimited.store.js';
import { parseDuration, type Duration } from '../contracts/duration.js';
import { durationOption, rejection } from '../contracts/options.js';
import { RateLimitService } from '../nest/rate-limit.service.js';
import type { RouteReference } from '../nest/request/routes.js';
import { RATE_LIMIT_STORE } from '../nest/tokens.js';
import type { SubjectValue } from '../rules/subject.js';

/** A memory store that allows every request while it is off. */
class TestStore extends MemoryStore {
  isOff = false;
  private readonly unlimited = new UnlimitedStore();

  override decide(hits: readonly Hit[], options: DecideOptions) {
    return this.isOff ? this.unlimited.decide(hits) : super.decide(hits, options);
  }
}

/** The part of Nest's `TestingModuleBuilder` that is used. */
interface ModuleBuilder {
  /** Replaces a provider. */
  overrideProvider(token: unknown): {
    /** Replaces it by a value. */
    useValue(value: unknown): unknown;
  };
  /** Makes the module. */
  compile(...options: never[]): Promise<unknown>;
}

/** A private field of Nest's builder, which has no modules before `compile()`. */
interface Container {
  readonly container?: { getModules(): { readonly size: number } };
}

interface CompiledModule {
  get<Provider>(provider: new (...args: never[]) => Provider, options: { strict: boolean }): Provider;
}

/** The builders whose store is replaced. */
const installed = new WeakSet<ModuleBuilder>();

/** Noon, so that no calendar window ends while a test advances a few hours. */
const START = Date.UTC(2030, 0, 1, 12);

/**
 * Limits of an application in its tests: counters in memory, on a clock that only the test advances.
 *
 * @example
 * const builder = Test.createTestingModule({ imports: [AppModule] });
 * const limits = RateLimitTesting.install(builder);
 * const app = (await builder.compile()).createNestApplication();
 */
export class RateLimitTesting {
  private now = START;
  private readonly store = new TestStore({ clock: () => this.now });
  private compiled: CompiledModule | undefined;

  private constructor(builder: ModuleBuilder) {
    builder.overrideProvider(RATE_LIMIT_STORE).useValue(this.store);
    const compile = builder.compile.bind(builder) as (...options: unknown[]) => Promise<CompiledModule>;
    const compileAndKeep = async (...options: unknown[]) => (this.compiled = await compile(...options));
    Object.assign(builder, { compile: compileAndKeep });
  }

  /**
   * Replaces the store of the application before `builder.compile()`. The application needs no Redis then, whatever
   * `redis` is.
   *
   * @param builder what `Test.createTestingModule()` returns
   * @throws Error after `builder.compile()`, when the store cannot be replaced, and on a second call with one builder
   */
  static install(builder: ModuleBuilder): RateLimitTesting {
    if ((builder as Container).container?.getModules().size)
      throw new Error(
        'RateLimitTesting.install: called after builder.compile(), so it would have no effect; call it before',
      );
    if (installed.has(builder))
      throw new Error(
        'RateLimitTesting.install: called twice on one builder; use the object that the first call has returned',
      );
    installed.add(builder);
    return new RateLimitTesting(builder);
  }

  /**
   * Advances the clock of the limits. Timers, such as the delay of `leaky-bucket`, run in real time.
   *
   * @param duration such as `'1m'`
   * @throws RangeError if it is no duration
   */
  advance(duration: Duration): void {
    const microseconds = parseDuration(duration);
    if (microseconds === undefined) throw new RangeError(rejection('advance', duration, durationOption));
    this.now += microseconds / 1000;
  }

  /** Deletes every counter and every block. */
  clear(): void {
    void this.store.close();
  }

  /** Switches all limits off: every request is allowed and none is counted, until `on()`. */
  off(): void {
    this.store.isOff = true;
  }

  /** Switches the limits on again, with the counters from before `off()`. */
  on(): void {
    this.store.isOff = false;
  }

  /**
   * Returns the permits of a counter that are in use: its limit minus the remaining permits.
   *
   * @param rule name of a rule whose counter is shared, or a route: `{ route: [LoginController, 'login'], rule: 'default' }`
   * @param subject the plain value, such as an IP or a user id
   * @throws Error before `builder.compile()`
   * @throws RateLimitConfigError if there is no such rule or route
   */
  async consumed(rule: string | RouteReference, subject: SubjectValue): Promise<number> {
    if (!this.compiled) throw new Error('consumed: call builder.compile() first');
    const service = this.compiled.get(RateLimitService, { strict: false });
    const { decisions } = await service.peek(rule, subject, { cost: 0 });
    const { limit, remaining } = decisions.find(({ shadow }) => !shadow) ?? decisions[0]!;
    return limit - remaining;
  }
}
