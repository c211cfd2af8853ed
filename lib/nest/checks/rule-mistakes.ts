import { editsBetween } from '../../contracts/rate-limit-config.error.js';
import type { Type } from '@nestjs/common';
import { after, type Timer } from '../../contracts/timer.js';
import { methodRules } from '../rate-limit.decorator.js';
import type { HandlerMethod } from '../request/routes.js';
import type { DeclaredRules } from '../rules/declared-rules.js';
import { namedOn, originsOf, type RuleFields } from '../rules/rule-layers.js';
import type { Warnings } from '../warnings.js';

/** Shorter names are often one character apart, such as `get` and `set`. */
const SHORTEST_NAME = 4;

/** With more names, a search for misspelled ones would delay the start. */
const MOST_NAMES = 200;

/** A program names a rule when it uses it: after this time, one that nothing has named is reported. */
const HOUR_MS = 3_600_000;

/** Warns of rules that limit nothing, or not what they seem to. */
export class RuleMistakes {
  /** The names of the rules that count requests of a handler. */
  private readonly met = new Set<string>();
  private readonly named = new Set<string>();
  private hasHandlers = false;
  private timer: Timer | undefined;

  constructor(
    private readonly warnings: Warnings,
    private readonly declared: DeclaredRules,
  ) {}

  /**
   * Notes a rule that counts the requests of a handler.
   *
   * @param isRead whether the handler reads its usage
   */
  add(rule: RuleFields, owner: string, isRead = false): void {
    const name = rule['name'] as string;
    this.met.add(name);
    if (namedOn(rule) !== 'nowhere') this.named.add(name);
    if (rule['settle']) return;
    const { cost, onError } = originsOf(rule);
    const about = `Rule "${name}" of ${owner}`;
    if (rule['cost'] === 0 && !isRead)
      this.warn(
        `${name} ${cost}`,
        `${about} limits nothing, since its cost is 0. Remove \`cost\`, or the rule.`,
      );
    if (rule['onError'] === 'refund' && onError !== 'defaults')
      this.warn(
        `${name} ${onError} onError`,
        `${about} has onError: 'refund' without \`settle\`, so failed requests are charged. Write count: 'successes'.`,
      );
  }

  /** Notes a method, and checks whether it lacks the rules of the one that it overrides. */
  addMethod({ type, name, kind, owner }: HandlerMethod): void {
    this.hasHandlers ||= kind !== 'none';
    const { rules, skipped } = methodRules(type, name);
    if (rules.length > 0 || skipped.length > 0) return;
    const lost = baseOf(type.prototype as object, name);
    if (lost === undefined) return;
    this.warn(
      owner,
      `${owner} overrides ${lost}, whose @RateLimit does not apply to it. Write @RateLimit on it as well, or ` +
        '@SkipRateLimit() if it has no limit.',
    );
  }

  /** Checks all rules once the handlers are known. */
  check(): void {
    const unset = 'is undefined and has no effect. Give it a value, or leave it out.';
    for (const path of this.declared.undefinedFields) this.warn(path, `${path} ${unset}`);
    const unmet = this.declared.everyRoute.filter((name) => this.hasHandlers && !this.met.has(name));
    for (const name of unmet) this.warnOfUnmet(name);
    this.warnOfSimilarNames();
    if (this.declared.onDemandNames.length > 0)
      this.timer = after(HOUR_MS, () => void this.warnOfUnnamed().catch(() => undefined));
  }

  close(): void {
    this.timer?.stop();
  }

  private warnOfUnmet(name: string): void {
    const transports = this.declared.ruledTransports.join(', ');
    const where =
      transports === '' ? 'no transport, since `transports` is empty' : `all handlers of ${transports}`;
    this.warn(
      name,
      `rules.${name} applies to ${where}, and no such handler of this application has it, so it limits no request. Add the transport of ` +
        `your handlers to \`transports\`, write @RateLimit('${name}') on them, or move a rule for programs to \`onDemand\`.`,
    );
  }

  private warnOfSimilarNames(): void {
    const names = this.declared.allNames;
    for (const [index, name] of names.entries()) {
      for (const other of names.slice(index + 1)) {
        const difference = differenceOf(name, other, names.length <= MOST_NAMES);
        if (difference === undefined) continue;
        this.warnings.warn(
          'RL_SIMILAR_NAMES',
          `The rules "${name}" and "${other}" differ ${difference}, and each has a limit of its own. If they are meant to be ` +
            'one, correct the name.',
          `${name} ${other}`,
        );
      }
    }
  }

  private async warnOfUnnamed(): Promise<void> {
    const { unnamedMessage } = await import('../rare-messages.js');
    const { onDemandNames, usedByPrograms } = this.declared;
    for (const name of onDemandNames)
      if (!this.named.has(name) && !usedByPrograms.has(name)) this.warn(name, unnamedMessage(name));
  }

  private warn(about: string, message: string): void {
    this.warnings.warn('RL_RULE_WITHOUT_EFFECT', message, about);
  }
}

/**
 * Returns how two names differ, if one is probably the other one misspelled. Names that differ in digits are versions.
 *
 * @param isFew whether there are few enough names to look for other differences than the case of letters
 */
function differenceOf(one: string, other: string, isFew: boolean): string | undefined {
  const [from, to] = [one.toLowerCase(), other.toLowerCase()];
  if (from === to) return 'in the case of letters';
  const isShort = Math.min(from.length, to.length) < SHORTEST_NAME;
  if (!isFew || isShort || withoutDigits(from) === withoutDigits(to)) return undefined;
  return editsBetween(from, to) === 1 ? 'in one character' : undefined;
}

function withoutDigits(name: string): string {
  return name.replace(/\d/g, '');
}

/** Returns the name of the decorated method that a class overrides; `undefined` if there is none. */
function baseOf(prototype: object, method: string): string | undefined {
  if (!Object.hasOwn(prototype, method)) return undefined;
  const base = Object.getPrototypeOf(prototype) as object | null;
  if (base === null || !(method in base)) return undefined;
  const type = base.constructor as Type;
  return methodRules(type, method).rules.length > 0 ? `${type.name}.${method}` : baseOf(base, method);
}
