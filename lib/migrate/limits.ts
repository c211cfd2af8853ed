import { relative } from 'node:path';
import type * as TsMorph from 'ts-morph';
import { parseDuration } from '../contracts/duration.js';
import { classesIn, textOf, type Source } from './source.js';
import { valuesOf } from './rules.js';
import {
  UNKNOWN,
  decorationsAt,
  entriesOf,
  factoriesOf,
  guardsOf,
  isCalled,
  lineageOf,
  mapOf,
  rootsOf,
  throttlersOf,
  usedGuards,
  type Class,
  type Decoration,
  type Guards,
} from './throttlers.js';
import { Node, SyntaxKind, type Values } from './ts-morph.js';
import { isTest } from './constants.js';

/** The decorators of handlers, and those of limits, which stand on handlers. */
const HANDLERS =
  /(^|\.)(Get|Post|Put|Patch|Delete|Head|Options|All|Search|Sse|Query|Mutation|Subscription|SubscribeMessage|MessagePattern|EventPattern|GrpcMethod|GrpcStreamMethod|GrpcStreamCall|Throttle|SkipThrottle|RateLimit|SkipRateLimit)$/;

const LIMITS = ['Throttle', 'SkipThrottle', 'RateLimit', 'SkipRateLimit'];

/** A limit: permits per milliseconds; a field that is no constant is unknown. */
interface Limit {
  readonly limit?: number | string;
  readonly window?: number | string;
}

type Limits = Map<string, Limit>;

/** The limits of a route while its decorators are read. */
interface Layers {
  readonly limits: Limits;
  readonly skipped: Set<string>;
}

/** The limits of each route in words, by its file, class and method. */
export type RouteLimits = ReadonlyMap<string, string>;

/** Reads the decorators of a class or method into the limits of a route. */
type ReadPlace = (layers: Layers, source: Source, decorations: readonly Decoration[], all: Limits) => void;

/** Which rules apply to a handler: all, those that a decorator names, or unknown. */
type Reach = (handler: string, ownGuards: number) => 'all' | 'named' | typeof UNKNOWN;

/** Returns the limits of each route by throttler. */
export function limitsBefore(sources: readonly Source[]): RouteLimits {
  const all: Limits = new Map();
  const roots = rootsOf(sources, 'ThrottlerModule');
  for (const { source, call } of roots) {
    for (const [name, values] of throttlersOf(source, call)) all.set(name, limitIn(source, values, 'ttl'));
  }
  const guards = guardsOf(sources, 'ThrottlerGuard');
  const known = roots.length === 1 ? all : unknown();
  return routes(sources, known, guards, guards.global.length > 0, readThrottle, (handler, ownGuards) => {
    // Nest 12 runs global guards in gateways, Nest 11 does not.
    const isGateway = handler === 'SubscribeMessage' && ownGuards === 0;
    // Throttler counts once for each guard, and limits no method of a provider.
    const isTwice = ownGuards > (guards.global.length > 0 ? 0 : 1);
    return isGateway || isTwice || LIMITS.includes(handler) ? UNKNOWN : 'all';
  });
}

/** Returns the limits of each route by this package. */
export function limitsAfter(sources: readonly Source[]): RouteLimits {
  const roots = rootsOf(sources, 'RateLimitModule');
  const found = roots.flatMap(({ source, call }) => {
    const objects = [call, ...factoriesOf(source, call)].flatMap((each) =>
      each.getDescendantsOfKind(SyntaxKind.ObjectLiteralExpression),
    );
    const values = objects.map((each) => valuesOf(source, each));
    const registersGuard = !values.some((each) => each?.get('registerGuard')?.getText() === 'false');
    const rules = values.flatMap((each) => each?.get('rules') ?? []);
    return (rules.length > 0 ? rules : [undefined]).map((each) => ({ source, rules: each, registersGuard }));
  });
  const all: Limits = new Map();
  for (const { source, rules } of found) {
    for (const [name, each] of entriesOf(source, rules))
      all.set(name, limitIn(source, mapOf(source, each), 'window'));
  }
  const guards = guardsOf(sources, 'RateLimitGuard');
  const isGlobal = guards.global.length > 0 || found.some(({ registersGuard }) => registersGuard);
  return routes(sources, found.length === 1 ? all : unknown(), guards, isGlobal, readRateLimit, (handler) =>
    /Pattern$|^Grpc/.test(handler) ? 'named' : 'all',
  );
}

const unknown = (): Limits => new Map([[UNKNOWN, {}]]);

/** A decorator of throttler that is nearer replaces a field, or whether the throttler is skipped. */
const readThrottle: ReadPlace = ({ limits, skipped }, source, decorations, all) => {
  for (const { call } of named(decorations, 'Throttle')) {
    for (const [name, each] of entriesOf(source, call.getArguments()[0])) {
      if (all.has(name) || name === UNKNOWN || all.has(UNKNOWN))
        overlay(limits, name, limitIn(source, mapOf(source, each), 'ttl'));
    }
  }
  for (const { call } of named(decorations, 'SkipThrottle')) {
    const [options] = call.getArguments();
    if (!options) skipped.add('default');
    for (const [name, flag] of options ? entriesOf(source, options) : []) {
      const value = source.valueOf(flag);
      if (value === true) skipped.add(name);
      else if (value === false) skipped.delete(name);
      else overlay(limits, UNKNOWN, {});
    }
  }
};

/** A rule that a place skips applies again where the place, or a nearer one, names it. */
const readRateLimit: ReadPlace = ({ limits, skipped }, source, decorations) => {
  for (const { call } of named(decorations, 'SkipRateLimit')) {
    const names = call.getArguments().map((each) => source.valueOf(each));
    for (const name of names.length > 0 ? names : limits.keys()) skipped.add(String(name));
  }
  for (const { call } of named(decorations, 'RateLimit')) {
    const values = mapOf(source, call.getArguments()[0]);
    const name = String(values?.has('name') ? source.valueOf(values.get('name')) : 'default');
    skipped.delete(name);
    overlay(limits, values ? name : UNKNOWN, limitIn(source, values, 'window'));
  }
};

function named(decorations: readonly Decoration[], name: string): Decoration[] {
  return decorations.filter(({ call }) => isCalled(call.getExpression(), name));
}

/** Returns what each route has: nothing if no guard limits it. */
function routes(
  sources: readonly Source[],
  all: Limits,
  guards: Guards,
  isGlobal: boolean,
  read: ReadPlace,
  reach: Reach,
): RouteLimits {
  const found = new Map<string, string>();
  for (const source of sources.filter(({ file }) => !isTest(file))) {
    for (const type of classesIn(source)) {
      if (Node.isClassDeclaration(type) && type.isAbstract()) continue;
      const lineage = lineageOf(type);
      for (const method of handlersOf(source, lineage)) {
        const places = [...lineage.toReversed(), method].map((place) => decorationsAt(source, place));
        const ownGuards = usedGuards(places.flat()).flatMap(guards.namesIn).length;
        const file = relative(process.cwd(), source.file.getFilePath());
        const isGuarded = isGlobal || ownGuards > 0;
        const reached = reach(handlerIn(source, method), ownGuards);
        const limits = isGuarded
          ? limitsOf(source, places, all, read, reached === 'named')
          : new Map<string, Limit>();
        found.set(
          `${type.getName() ?? ''}.${method.getName()} (${file})`,
          inWords(reached === UNKNOWN && limits.size > 0 ? unknown() : limits),
        );
      }
    }
  }
  return found;
}

function limitsOf(
  source: Source,
  places: readonly Decoration[][],
  all: Limits,
  read: ReadPlace,
  onlyNamed: boolean,
): Limits {
  const limits: Limits = new Map(all);
  const skipped = new Set<string>(onlyNamed ? all.keys() : []);
  for (const decorations of places) {
    read({ limits, skipped }, source, decorations, all);
    const isSure = LIMITS.flatMap((name) => named(decorations, name)).every((each) => each.isSure);
    if (!isSure || decorations.some((each) => each.setsMetadata)) overlay(limits, UNKNOWN, {});
  }
  for (const name of skipped) limits.delete(name);
  return limits;
}

/** The handlers of a class, with those that it inherits. */
function handlersOf(source: Source, lineage: readonly Class[]): TsMorph.MethodDeclaration[] {
  const methods = lineage.toReversed().flatMap((each) => each.getMethods());
  const byName = new Map(methods.map((method) => [method.getName(), method]));
  return [...byName.values()].filter((method) => handlerIn(source, method) !== '');
}

/** The decorator that makes a method a handler, without its namespace; empty if there is none. */
function handlerIn(source: Source, method: TsMorph.MethodDeclaration): string {
  const names = decorationsAt(source, method).map(({ call }) => call.getExpression().getText());
  const found = names.map((name) => HANDLERS.exec(name)?.[2] ?? '').filter(Boolean);
  return found.find((name) => !LIMITS.includes(name)) ?? found[0] ?? '';
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
function limitIn(source: Source, values: Values | undefined, window: string): Limit {
  if (!values) return { limit: UNKNOWN, window: UNKNOWN };
  const read = (name: string): number | string => {
    const value = source.valueOf(values.get(name));
    const microseconds = parseDuration(value);
    if (microseconds !== undefined) return microseconds / 1000;
    return typeof value === 'number' ? value : UNKNOWN;
  };
  return {
    ...(values.has('limit') && { limit: read('limit') }),
    ...(values.has(window) && { window: read(window) }),
  };
}
