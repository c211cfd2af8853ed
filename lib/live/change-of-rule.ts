import type { CompiledRule } from '../rules/compiled-rule.js';
import type { SourcedRule } from '../contracts/rule-source.js';
import { subjectFromSource } from '../rules/subject.js';
import { programSubject } from '../nest/programs/program-rule.js';
import { exceptionKey, type ExceptionsBySubject, Exceptions } from '../nest/request/exceptions.js';
import type { By } from '../nest/rules/route-rule.js';
import type { RuleFields } from '../nest/rules/rule-layers.js';
import { isFields } from '../contracts/fields.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { KeyedRule } from '../rules/keyed-rule.js';
import { dynamicFields, sampleOf } from '../nest/request/per-request-rule.js';
import { endingAt, type LiveChange } from '../nest/request/route-limit.js';
import { withLayer } from '../nest/rules/live-layer.js';

/**
 * What the routes of a rule share: its exceptions are read and compiled once for each change, not once for each route,
 * because a module may have a thousand of both.
 */
export class ExceptionCache {
  private readonly lists = new WeakMap<readonly SourcedRule[], Map<string, ExceptionsBySubject>>();
  private readonly functions = new WeakMap<object, number>();
  private functionCount = 0;
  private compiled = new Map<string, CompiledRule>();
  private compiledBefore = new Map<string, CompiledRule>();

  /** Forgets what nothing has used since the last call. */
  turnOver(): void {
    this.compiledBefore = this.compiled;
    this.compiled = new Map();
  }

  /**
   * Returns exceptions by subject.
   *
   * @throws RateLimitConfigError if a subject does not fit `by`
   */
  bySubject(
    exceptions: readonly SourcedRule[],
    by: By | readonly By[] | undefined,
    ipv6Prefix: number,
    path: string,
  ): ExceptionsBySubject {
    const lists = this.lists.get(exceptions) ?? new Map<string, ExceptionsBySubject>();
    this.lists.set(exceptions, lists);
    const counted = this.textOf([by, ipv6Prefix]);
    const known = lists.get(counted);
    if (known) return known;
    const subjectOf = programSubject(by, ipv6Prefix, path);
    const list = new Map(
      exceptions.map((each) => [exceptionKey(subjectOf(subjectFromSource(each.subject!))), each]),
    );
    lists.set(counted, list);
    return list;
  }

  /**
   * Returns the compiled form of an exception of a rule.
   *
   * @param rule the text of the rule, see `textOf`
   * @param compile called if it is not known
   */
  compile(rule: string, exception: SourcedRule['fields'], compile: () => CompiledRule): CompiledRule {
    const text = `${rule} ${JSON.stringify(exception)}`;
    const compiled = this.compiled.get(text) ?? this.compiledBefore.get(text) ?? compile();
    this.compiled.set(text, compiled);
    return compiled;
  }

  /** Returns a text that is equal for values that decide equally. */
  textOf(value: RuleFields | readonly unknown[]): string {
    return JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'function' ? `function ${this.numberOf(part)}` : part,
    );
  }

  private numberOf(part: object): number {
    const known = this.functions.get(part);
    if (known !== undefined) return known;
    this.functions.set(part, (this.functionCount += 1));
    return this.functionCount;
  }
}

/** A change, with its end in milliseconds of this process's monotonic clock. */
export interface HeldRule extends SourcedRule {
  readonly until: number;
}

/** The live changes of one rule. */
export interface RuleChanges {
  /** The change for all subjects. */
  readonly layer: HeldRule | undefined;
  readonly exceptions: readonly HeldRule[];
}

/** What distinguishes changes: everything but their time. */
export function textOf({ layer, exceptions }: RuleChanges): string {
  return JSON.stringify([layer, ...exceptions], (key, value: unknown) =>
    key === 'until' || key === 'expiresInMs' ? undefined : value,
  );
}

/** Returns the changes that have not ended. */
export function unexpired({ layer, exceptions }: RuleChanges): RuleChanges {
  const now = performance.now();
  return {
    layer: layer && layer.until > now ? layer : undefined,
    exceptions: exceptions.filter(({ until }) => until > now),
  };
}

/** Returns the changes of each rule by its name. */
export function changesByRule(entries: readonly HeldRule[]): Map<string, RuleChanges> {
  const changes = new Map<string, { layer: HeldRule | undefined; exceptions: HeldRule[] }>();
  for (const entry of entries) {
    const ofRule = changes.get(entry.rule) ?? { layer: undefined, exceptions: [] };
    if (entry.subject === undefined) ofRule.layer = entry;
    else ofRule.exceptions.push(entry);
    changes.set(entry.rule, ofRule);
  }
  return changes;
}

/** What a rule is, besides its fields. */
export interface ChangedRule {
  readonly fields: RuleFields;
  /** The option `by` of the rule; `undefined` if any subject is allowed. */
  readonly by: By | readonly By[] | undefined;
  /** Returns a rule with its keys. */
  readonly keyed: (rule: CompiledRule, counter?: string) => KeyedRule;
}

/**
 * Returns what changes make of a rule. Exceptions are compiled when they are used: `checkExceptions` finds wrong ones.
 *
 * @throws RateLimitConfigError if the change for all subjects does not fit the rule, or the subject of an exception
 */
export function changeOf(rule: ChangedRule, changes: RuleChanges, cache: ExceptionCache): LiveChange {
  const fields = changedFields(rule.fields, changes);
  const { counter, until = Infinity } = changes.layer ?? {};
  if (changes.exceptions.length === 0) return { fields, counter, until, exceptions: undefined };
  const compile = compilerOf(fields, cache);
  const exceptions = new Exceptions(bySubject(rule, changes, cache), (exception) => {
    const compiled = compile(exception);
    if (compiled === 'allow') return compiled;
    return rule.keyed(endingAt((exception as HeldRule).until, compiled), exception.counter ?? counter);
  });
  return { fields, counter, until, exceptions };
}

/** @throws RateLimitConfigError if an exception does not fit the rule */
export function checkExceptions(rule: ChangedRule, changes: RuleChanges, cache: ExceptionCache): void {
  const compile = compilerOf(changedFields(rule.fields, changes), cache);
  for (const exception of bySubject(rule, changes, cache).values()) compile(exception);
}

/**
 * Returns the fields of a rule with the change for all subjects.
 *
 * @throws RateLimitConfigError if the change does not fit the rule
 */
export function changedFields(rule: RuleFields, { layer }: RuleChanges): RuleFields {
  if (!layer) return rule;
  const path = pathOf(rule);
  const { fields, problems } = withLayer(rule, layer.fields, path);
  if (problems.length > 0) throw new RateLimitConfigError(problems);
  if (Object.keys(layer.fields).length > 0) return fields;
  throw new RateLimitConfigError([problem(path, layer.fields, 'an object with fields of a rule')]);
}

function pathOf(rule: RuleFields): string {
  return `live rule "${String(rule['name'])}"`;
}

function bySubject({ fields, by }: ChangedRule, { exceptions }: RuleChanges, cache: ExceptionCache) {
  const ipv6Prefix = (fields['ipv6Prefix'] as number | undefined) ?? 64;
  return cache.bySubject(exceptions, by, ipv6Prefix, pathOf(fields));
}

/** Returns the function that compiles the exceptions of a rule. */
function compilerOf(
  rule: RuleFields,
  cache: ExceptionCache,
): (exception: SourcedRule) => CompiledRule | 'allow' {
  const text = cache.textOf(rule);
  const path = pathOf(rule);
  return ({ subject, fields }) =>
    fields === 'allow'
      ? fields
      : cache.compile(text, fields, () =>
          compiled(rule, fields, `${path} for subject ${JSON.stringify(subject)}`),
        );
}

function compiled(rule: RuleFields, exception: unknown, path: string): CompiledRule {
  return { ...sampleOf(exceptionFields(rule, exception, path), path), resolved: { exception } };
}

/**
 * Returns the fields of a rule for the subject of an exception.
 *
 * @throws RateLimitConfigError if the exception does not fit the rule
 */
export function exceptionFields(rule: RuleFields, exception: unknown, path: string): RuleFields {
  if (exception === 'deny') return denying(rule);
  if (!isFields(exception)) {
    throw new RateLimitConfigError([`${path}: allowed: fields of the rule, "allow" or "deny"`]);
  }
  if (rule['share'] !== undefined) {
    const fix = 'for a rule with share: "allow" or "deny"; give the subject a weight in share';
    throw new RateLimitConfigError([problem(path, exception, fix)]);
  }
  const { fields, problems } = withLayer(rule, exception, path);
  const dynamic = dynamicFields(fields).map(
    (field) => `${path}.${field}: a function in the rule; write a value`,
  );
  if (problems.length + dynamic.length > 0) throw new RateLimitConfigError([...problems, ...dynamic]);
  return fields;
}

/** A rule that denies everything. */
function denying({ prefetch: _prefetch, trial: _trial, ...rule }: RuleFields): RuleFields {
  return { ...rule, limit: 0, window: typeof rule['window'] === 'function' ? '1m' : rule['window'], cost: 1 };
}
