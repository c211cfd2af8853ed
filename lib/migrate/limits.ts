import type * as TsMorph from 'ts-morph';
import { millisecondsIn, textOf, isSubclassOf, type Source } from './source.js';
import { valuesOf } from './rules.js';
import {
  UNKNOWN,
  type Place,
  callsAt,
  mapOf,
  entriesOf,
  callsOf,
  throttlersOf,
  objectsIn,
  factoriesOf,
  decorated,
} from './throttlers.js';

/** The decorators of handlers. */
const HANDLERS =
  /^(Get|Post|Put|Patch|Delete|Head|Options|All|Search|Sse|Query|Mutation|Subscription|SubscribeMessage|MessagePattern|EventPattern|GrpcMethod|GrpcStreamMethod|GrpcStreamCall)$/;

/** A limit: permits per milliseconds; a field that is no constant is unknown. */
interface Limit {
  readonly limit?: number | string;
  readonly window?: number | string;
}

type Limits = Map<string, Limit>;

/** The limits of each route in words, by its class and method. */
export type RouteLimits = ReadonlyMap<string, string>;

/** Returns the limits of each route by throttler. */
export function limitsBefore(sources: readonly Source[]): RouteLimits {
  const roots = sources.flatMap((source) =>
    callsOf(source, 'ThrottlerModule').map((call) => ({ source, call })),
  );
  const all: Limits = new Map();
  for (const { source, call } of roots) {
    for (const list of throttlersOf(source, call) ?? [undefined]) {
      const values = source.m.Node.isObjectLiteralExpression(list) ? valuesOf(source, list) : undefined;
      const name = values?.get('name');
      all.set(
        String(name ? (source.valueOf(name) ?? UNKNOWN) : values ? 'default' : UNKNOWN),
        limitIn(source, values, 'ttl'),
      );
    }
  }
  if (all.size === 0) all.set(UNKNOWN, {});
  const guards = guardsOf(sources, 'ThrottlerGuard');
  return routes(sources, guards, guards.isGlobal, (source, places) => {
    const limits: Limits = new Map(all);
    for (const call of decorated(source, places, 'Throttle')) {
      for (const [name, each] of entriesOf(source, call.getArguments()[0])) {
        if (all.has(name) || name === UNKNOWN || all.has(UNKNOWN))
          overlay(limits, name, limitIn(source, each, 'ttl'));
      }
    }
    const skips = decorated(source, places, 'SkipThrottle').map((call) => call.getArguments()[0]);
    for (const options of skips) {
      if (!options) limits.delete('default');
      for (const [name, flag] of options ? entriesOf(source, options) : []) {
        if (source.valueOf(flag) === true) limits.delete(name);
        else if (all.has(name) && !limits.has(name)) limits.set(name, all.get(name)!);
      }
    }
    return limits;
  });
}

/** Returns the limits of each route by this package. */
export function limitsAfter(sources: readonly Source[]): RouteLimits {
  const all: Limits = new Map();
  let registersGuard = false;
  for (const source of sources) {
    for (const call of callsOf(source, 'RateLimitModule')) {
      const objects = [call, ...factoriesOf(source, call)].flatMap((each) => objectsIn(source, each));
      const values = objects.map((each) => valuesOf(source, each));
      const rules = values.map((each) => each?.get('rules')).find((each) => each !== undefined);
      registersGuard ||= !values.some((each) => each?.get('registerGuard')?.getText() === 'false');
      for (const [name, each] of rules ? entriesOf(source, rules) : [[UNKNOWN, undefined] as const])
        all.set(name, limitIn(source, each, 'window'));
    }
  }
  if (all.size === 0) all.set(UNKNOWN, {});
  const guards = guardsOf(sources, 'RateLimitGuard');
  return routes(sources, guards, registersGuard || guards.isGlobal, (source, places) => {
    const limits: Limits = new Map(all);
    for (const place of places) {
      for (const call of decorated(source, [place], 'SkipRateLimit')) {
        const names = call.getArguments().map((each) => source.valueOf(each));
        for (const name of names.length > 0 ? names : [...limits.keys()]) limits.delete(String(name));
      }
      for (const call of decorated(source, [place], 'RateLimit')) {
        const values = mapOf(source, call.getArguments()[0]);
        const name = String(values?.has('name') ? source.valueOf(values.get('name')) : 'default');
        if (!limits.has(name) && all.has(name)) limits.set(name, all.get(name)!);
        overlay(limits, values ? name : UNKNOWN, limitIn(source, values, 'window'));
      }
    }
    return limits;
  });
}

/** Returns a table of the routes, and whether each has the same limits as before, all of them known. */
export function tableOf(
  before: RouteLimits,
  after: RouteLimits,
): { readonly lines: string[]; readonly isSame: boolean } {
  const rows = [...before].map(([route, limits]) => [route, limits, after.get(route) ?? UNKNOWN] as const);
  const isRight = (one: string, other: string): boolean => one === other && !one.includes(UNKNOWN);
  const [first, second] = [0, 1].map((column) => Math.max(6, ...rows.map((row) => row[column]!.length)));
  const line = (route: string, one: string, other: string, note = ''): string =>
    `  ${route.padEnd(first!)}  ${one.padEnd(second!)}  ${other}${note}`;
  return {
    lines: [
      line('route', 'before', 'after'),
      ...rows.map(([route, one, other]) =>
        line(route, one, other, isRight(one, other) ? '' : one === other ? '   ! not known' : '   ! differs'),
      ),
    ],
    isSame: rows.every(([, one, other]) => isRight(one, other)),
  };
}

interface Guards {
  readonly names: ReadonlySet<string>;
  readonly isGlobal: boolean;
}

/** The names of a guard and its subclasses, and whether one is an APP_GUARD. */
function guardsOf(sources: readonly Source[], guard: string): Guards {
  const classes = sources.flatMap(({ file }) => file.getClasses());
  const names = new Set([
    guard,
    ...classes.filter((each) => isSubclassOf(each, guard)).map((each) => each.getName()!),
  ]);
  const isGlobal = sources.some((source) =>
    source.file.getDescendantsOfKind(source.m.SyntaxKind.ObjectLiteralExpression).some((each) => {
      const values = valuesOf(source, each);
      const used = values?.get('useClass') ?? values?.get('useExisting');
      return values?.get('provide')?.getText() === 'APP_GUARD' && names.has(used?.getText() ?? '');
    }),
  );
  return { names, isGlobal };
}

/** Returns what each route has: nothing if no guard limits it. */
function routes(
  sources: readonly Source[],
  { names }: Guards,
  isGlobal: boolean,
  limitsOf: (source: Source, places: readonly Place[]) => Limits,
): RouteLimits {
  const found = new Map<string, string>();
  for (const source of sources) {
    for (const type of source.file.getClasses()) {
      for (const method of type.getMethods()) {
        if (!isHandler(source, method)) continue;
        const isGuarded = [type, method].some((place) =>
          callsAt(source, place).some(
            (call) =>
              call.getExpression().getText() === 'UseGuards' &&
              call.getArguments().some((guard) => names.has(guard.getText())),
          ),
        );
        const limits = isGlobal || isGuarded ? limitsOf(source, [type, method]) : new Map<string, Limit>();
        found.set(`${type.getName() ?? ''}.${method.getName()}`, inWords(limits));
      }
    }
  }
  return found;
}

/** Whether a method has the decorator of a handler, or a function that composes one. */
function isHandler(source: Source, method: TsMorph.MethodDeclaration): boolean {
  return callsAt(source, method).some((call) => HANDLERS.test(call.getExpression().getText()));
}

function inWords(limits: Limits): string {
  const texts = Array.from(limits, ([name, { limit = UNKNOWN, window = UNKNOWN }]) =>
    name === UNKNOWN ? name : `${name} ${limit} per ${typeof window === 'number' ? textOf(window) : window}`,
  );
  return texts.toSorted().join(', ') || 'none';
}

function overlay(limits: Limits, name: string, limit: Limit): void {
  limits.set(name, { ...limits.get(name), ...limit });
}

/** Reads the limit in the fields of a throttler or a rule. */
function limitIn(
  source: Source,
  given: TsMorph.Node | ReadonlyMap<string, TsMorph.Node> | undefined,
  window: string,
): Limit {
  const values =
    given instanceof Map
      ? (given as ReadonlyMap<string, TsMorph.Node>)
      : mapOf(source, given as TsMorph.Node);
  if (!values) return { limit: UNKNOWN, window: UNKNOWN };
  const read = (name: string): number | string => {
    const value = source.valueOf(values.get(name));
    const milliseconds = typeof value === 'string' ? millisecondsIn(value) : value;
    return typeof milliseconds === 'number' ? milliseconds : UNKNOWN;
  };
  return {
    ...(values.has('limit') && { limit: read('limit') }),
    ...(values.has(window) && { window: read(window) }),
  };
}
