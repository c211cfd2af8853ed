import type { AlgorithmDefinition } from './definition.js';
import { slidingWindowLog } from './sliding-window-log/sliding-window-log.js';

/** An algorithm definition without the types of its options. */
export type AnyDefinition = AlgorithmDefinition<object, unknown, string>;

/** An algorithm as messages need it, and where its code is. */
interface Listed {
  readonly load: () => Promise<AnyDefinition>;
  /** The names of its options. */
  readonly options: readonly string[];
}

/** Every algorithm. The code of all but the default is loaded when a rule names it. A spec compares it with the registry. */
const LISTED = {
  'fixed-window': {
    load: async () => (await import('./fixed-window/fixed-window.js')).fixedWindow,
    options: ['align', 'timeZone', 'anchor', 'prefetch'],
  },
  'sliding-window-log': { load: () => Promise.resolve(slidingWindowLog), options: [] },
  'sliding-window-counter': {
    load: async () =>
      (await import('./sliding-window-counter/sliding-window-counter.js')).slidingWindowCounter,
    options: ['prefetch'],
  },
  'sliding-window-cells': {
    load: async () => (await import('./sliding-window-cells/sliding-window-cells.js')).slidingWindowCells,
    options: ['cells', 'prefetch'],
  },
  'token-bucket': {
    load: async () => (await import('./token-bucket/token-bucket.js')).tokenBucket,
    options: ['burst', 'overdraft', 'refill', 'initial', 'warmUp', 'prefetch'],
  },
  gcra: {
    load: async () => (await import('./gcra/gcra.js')).gcra,
    options: ['burst', 'overdraft', 'share', 'prefetch'],
  },
  'leaky-bucket': {
    load: async () => (await import('./leaky-bucket/leaky-bucket.js')).leakyBucket,
    options: ['queue', 'delayAfter'],
  },
  concurrency: {
    load: async () => (await import('./concurrency/concurrency.js')).concurrency,
    options: ['lease', 'queue'],
  },
} satisfies Readonly<Record<string, Listed>>;

/** Name of an algorithm. */
export type AlgorithmName = keyof typeof LISTED;

const listed: Readonly<Record<AlgorithmName, Listed>> = LISTED;

/** The names of all algorithms. */
export const ALGORITHM_NAMES = Object.keys(listed) as readonly AlgorithmName[];

/** The options of all algorithms. */
export const OPTION_NAMES: readonly string[] = Object.values(listed).flatMap(({ options }) => options);

/** Returns the names of the algorithms that have an option. */
export function algorithmsWith(option: string): readonly string[] {
  return ALGORITHM_NAMES.filter((name) => listed[name].options.includes(option));
}

/** The algorithms for limits that are too large for the default algorithm, as a message lists them. */
export const FOR_LARGE_LIMITS = '"sliding-window-counter", "sliding-window-cells" or "gcra"';

/** The algorithms whose code is loaded. */
const known = new Map<string, AnyDefinition>([[slidingWindowLog.name, slidingWindowLog]]);

/** Adds algorithms whose code is loaded. */
export function know(algorithms: readonly AnyDefinition[]): void {
  for (const each of algorithms) known.set(each.name, each);
}

/** Returns the definition of an algorithm, whose code has been loaded; `undefined` for anything but its name. */
export function knownAlgorithm(name: unknown): AnyDefinition | undefined {
  const definition = known.get(name as string);
  if (definition || typeof name !== 'string' || !Object.hasOwn(listed, name)) return definition;
  throw new Error(`the algorithm "${name}" has not been loaded`);
}

/**
 * Loads the code of algorithms. Names that no algorithm has are ignored.
 *
 * @returns `undefined` if all of them are loaded
 */
export function loadAlgorithms(names: Iterable<string>): Promise<void> | undefined {
  const missing = [...new Set(names)].filter((name) => !known.has(name) && Object.hasOwn(listed, name));
  if (missing.length === 0) return undefined;
  return Promise.all(missing.map((name) => listed[name as AlgorithmName].load())).then(know);
}
