import { problem, RateLimitConfigError, unknownName } from '../../contracts/rate-limit-config.error.js';
import { ipSubjectOf } from '../../http/client-ip.js';
import { EVERYONE, headerSubjectOf, userSubjectOf } from '../../http/subject.js';
import {
  boundedList,
  boundedPart,
  partOfDigest,
  type Subject,
  SubjectDigest,
  type SubjectValue,
  subjectForPrograms,
} from '../../rules/subject.js';
import { addressHeaderOf, headerOf } from '../rules/by.js';
import type { By } from '../rules/route-rule.js';
import { isDeepStrictEqual } from 'node:util';
import type { Duration } from '../../contracts/duration.js';
import { isFields } from '../../contracts/fields.js';
import type { CompiledRule, Cost, RuleHit } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { Operation } from '../../limiter/operation.js';
import type { Exceptions } from '../request/exceptions.js';
import { dynamicFields, sampleOf } from '../request/per-request-rule.js';
import { withLayer } from '../rules/live-layer.js';
import type { RuleFields } from '../rules/rule-layers.js';
import type { Routes } from '../request/routes.js';

/** Returns the subject with which the guard counts requests of the client that a program's value identifies. */
type ProgramSubject = (given: SubjectValue) => Subject;

interface PartReader {
  readonly allowed: string;
  readonly read: (given: string | number) => string | undefined;
  /** Whether the guard counts by values that may be long, of which events have the digest. */
  readonly isAnyText?: boolean;
}

const EVERYONE_READER: PartReader = {
  allowed: `"${EVERYONE}", since the rule counts all together`,
  read: (given) => (given === EVERYONE ? EVERYONE : undefined),
};

/**
 * Returns the function that reads the subjects of programs for the option `by`. A list of an empty part and
 * an IP is the subject of requests without the rule's own subject.
 *
 * @param by the option of the rule; `undefined`: an IP if the value is one, or the value
 * @param path the name of the rule in messages
 */
export function programSubject(
  by: By | readonly By[] | undefined,
  ipv6Prefix: number,
  path: string,
): ProgramSubject {
  const readers = (Array.isArray(by) ? by : [by]).map((part: By | undefined) => readerOf(part, ipv6Prefix));
  const fallback = readerOf('ip', ipv6Prefix);
  const isTuple = Array.isArray(by);
  return (given) => {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (values.length === 2 && values[0] === '') {
      const ip = values[1] === EVERYONE ? EVERYONE : readPart(values[1], fallback);
      if (ip !== undefined) return ['', ip];
    }
    const parts = readers.map((reader, index) => readPart(values[index], reader));
    if (values.length === readers.length && parts.every((part) => part !== undefined)) {
      return isTuple || Array.isArray(given) ? boundedList(parts) : parts[0]!;
    }
    const whole = isTuple && values.length === 1 ? SubjectDigest.partOf(values[0]) : undefined;
    if (whole !== undefined) return [whole];
    const allowed = readers.map((reader) => reader.allowed).join(', ');
    throw new RateLimitConfigError([
      problem(`subject of ${path}`, given, isTuple ? `a list of ${allowed}` : allowed),
    ]);
  };
}

function readPart(given: unknown, { read, isAnyText = false }: PartReader): string | undefined {
  if (typeof given !== 'string' && !Number.isFinite(given)) {
    return isAnyText ? SubjectDigest.partOf(given) : undefined;
  }
  return read(given as string | number);
}

function readerOf(by: By | undefined, ipv6Prefix: number): PartReader {
  const ip = (given: string | number): string | undefined => ipSubjectOf(String(given), ipv6Prefix);
  if (by === undefined) {
    return {
      allowed: 'a string or a number',
      read: (given) => ip(given) ?? bounded(String(given)),
      isAnyText: true,
    };
  }
  if (by === 'ip' || addressHeaderOf(by) !== undefined) return { allowed: 'an IP address', read: ip };
  if (by === 'user') {
    return { allowed: 'the id of a user', read: (given) => bounded(userSubjectOf(given)), isAnyText: true };
  }
  if (by === 'everyone') return EVERYONE_READER;
  const header = headerOf(by);
  if (header === undefined) {
    return {
      allowed: 'what its function returns',
      read: (given) => bounded(String(given)),
      isAnyText: true,
    };
  }
  const hash = headerSubjectOf(header);
  return {
    allowed: `the value of the header ${header}`,
    read: (given) => partOfDigest(hash(String(given))),
    isAnyText: true,
  };
}

function bounded(text: string | undefined): string | undefined {
  return text ? boundedPart(text) : undefined;
}

/** Operations that need only keys, not a limit. */
const OF_ANY_LIMIT: readonly Operation[] = ['block', 'reset'];

/** A rule of the module or of a route, for use by programs, without a request. */
export class ProgramRule {
  private readonly subjectOf: ProgramSubject;
  private readonly keyed: KeyedRule;
  /** The fields that are functions of a request. */
  readonly dynamic: readonly string[];

  /**
   * @param by the option `by` of the rule; `undefined` if any subject is allowed
   * @param path the name of the rule in messages
   * @param replaced the rule that a live change has replaced
   * @throws RateLimitConfigError if the rule is invalid
   */
  constructor(
    private readonly fields: RuleFields,
    by: By | readonly By[] | undefined,
    private readonly path: string,
    private readonly key: (rule: CompiledRule) => KeyedRule,
    private readonly exceptions?: Exceptions,
    private readonly replaced?: ProgramRule,
  ) {
    this.subjectOf = programSubject(by, (fields['ipv6Prefix'] as number | undefined) ?? 64, path);
    this.dynamic = [...dynamicFields(fields), ...(fields['plan'] === undefined ? [] : ['plan'])];
    this.keyed = key(sampleOf(fields, path));
  }

  /** @throws RateLimitConfigError if the subject is invalid, or the operation needs a field that depends on a request */
  hits(operation: Operation, subject: SubjectValue, cost: Cost | undefined): readonly RuleHit[] {
    if (this.dynamic.length > 0 && !OF_ANY_LIMIT.includes(operation)) {
      throw new RateLimitConfigError([
        `${this.path}: depends on the request: ${this.dynamic.join(' and ')} given as a function`,
      ]);
    }
    return this.hitsOf(this.subjectOf(subject), cost);
  }

  /**
   * Returns a hit for each key that the rule can have for a subject: its own, those of its plans and of the subject's
   * exception, and those of the rule in the code and of the live changes that were replaced.
   *
   * @param window the window of the counters, for a rule whose window is a function
   * @throws RateLimitConfigError if the subject is invalid, or the window is a function and none is given
   */
  hitsToReset(subject: SubjectValue, window: Duration | undefined): readonly RuleHit[] {
    return this.everyHit(this.subjectOf(subject), window);
  }

  /** The same for a subject as the guard finds it. */
  everyHit(subject: Subject, window?: Duration): readonly RuleHit[] {
    const hits = [
      ...this.everyKeyed(subject, window).flatMap((rule) => rule.hits(subject, 0)),
      ...(this.replaced?.everyHit(subject, window) ?? []),
    ];
    return [...new Map(hits.map((hit) => [hit.key, hit])).values()];
  }

  private everyKeyed(subject: Subject, window: Duration | undefined): readonly KeyedRule[] {
    const { fields, path, key } = this;
    const isOpen = this.dynamic.includes('window');
    if (isOpen && window === undefined) {
      throw new RateLimitConfigError([
        `${path}: its window is a function, and each window has its own counters; name one: reset(…, { window: '1m' })`,
      ]);
    }
    const own = isOpen ? key(sampleOf({ ...fields, window }, path)) : this.keyed;
    const plans = isFields(fields['plans']) ? Object.values(fields['plans']) : [];
    const ofPlans = plans.map((plan) => key(sampleOf(withLayer(fields, plan, path).fields, path)));
    const excepted = this.exceptions?.of(subject);
    return [own, ...ofPlans, ...(excepted && excepted !== 'allow' ? [excepted] : [])];
  }

  /** Whether programs pass a subject as the guard finds it: the guard hashes values of headers. */
  isPlain(subject: Subject): boolean {
    try {
      return isDeepStrictEqual(this.subjectOf(subjectForPrograms(subject)), subject);
    } catch (error) {
      if (error instanceof RateLimitConfigError) return false;
      throw error;
    }
  }

  /** The hits of a subject as the guard finds it. */
  hitsOf(subject: Subject, cost: Cost | undefined): readonly RuleHit[] {
    const rule = this.exceptions?.of(subject) ?? this.keyed;
    return rule === 'allow' ? this.keyed.hits(subject, 0) : rule.hits(subject, cost);
  }
}

const quoted = (name: string): string => `"${name}"`;

/**
 * Returns the error for a rule name that the module's options do not contain.
 *
 * @param known the names in the options
 */
export function unknownRule(name: string, known: readonly string[], routes: Routes): RateLimitConfigError {
  const path = `rule ${quoted(name)}: not in the module's \`onDemand\` or \`rules\``;
  const decorated = [...routes.all()].flat().filter((limit) => limit.name === name);
  const [first] = decorated;
  if (first) {
    const others = decorated.length > 1 ? ` and ${decorated.length - 1} more` : '';
    const [, type, method] = /^(.*)\.(.*)$/.exec(first.owner)!;
    return new RateLimitConfigError([
      `${path}, but only in a decorator (${first.owner}${others}). Move it to \`onDemand\` and write ` +
        `@RateLimit(${quoted(name)}), or name a route: { route: [${type!}, '${method!}'], rule: ${quoted(name)} }`,
    ]);
  }
  return new RateLimitConfigError([unknownName(path, name, known)]);
}
