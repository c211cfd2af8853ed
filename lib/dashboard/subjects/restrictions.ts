import { Inject, Injectable } from '@nestjs/common';
import { hasFigures } from '../../contracts/decision.js';
import { problemsOf } from '../../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import { subjectFromProgram, subjectFromSource, type Subject } from '../../rules/subject.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { exceptionKey, type HeldRule } from '../../nest/rules/rule-changes.js';
import type { TableRule } from '../../nest/rules/rule-table.js';
import { ProcessReports } from '../collect/process-reports.js';
import type { FoundRule, FoundSubject, Restriction } from '../snapshot.js';
import { Blocks, type NotedBlock } from './blocks.js';
import { namedSubject, subjectOfText, subjectText } from './masked.js';
import { statesOf, type SubjectState } from './subject-states.js';

/** Finds subjects, and what restricts them: blocks and exceptions. */
@Injectable()
export class Restrictions {
  constructor(
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(Blocks) private readonly blocks: Blocks,
  ) {}

  /** Returns all exceptions, and the blocks that are listed and in force. */
  async list(): Promise<readonly Restriction[]> {
    const { secret } = await this.processes.all();
    const notes = await this.blocks.read();
    const hits = notes.map((note) => this.blockHits(note));
    const ends = new Map<string, number>();
    for (const { hit, blockedMs } of await statesOf(this.limits, hits.flat()))
      if (blockedMs !== undefined) ends.set(hit.key, blockedMs);
    const blocked = notes.map((note, index) => {
      const endsInMs = Math.max(0, ...hits[index]!.map(({ key }) => ends.get(key) ?? 0));
      return { note, endsInMs };
    });
    await this.blocks.remove(blocked.flatMap(({ note, endsInMs }) => (endsInMs > 0 ? [] : [note])));
    const exceptions = [...this.limits.programs.table.changes.values()].flatMap((each) => each.exceptions);
    return [
      ...exceptions.map((exception) => exceptionOf(secret, exception)),
      ...blocked
        .filter(({ endsInMs }) => endsInMs > 0)
        .map(({ note, endsInMs }) => blockOf(secret, note, endsInMs)),
    ];
  }

  /**
   * Returns what each rule has decided for a subject, and what restricts it.
   *
   * @param given the subject as a person writes it; the parts of a list between `|`
   */
  async find(given: string): Promise<FoundSubject> {
    const { secret } = await this.processes.all();
    const { table } = this.limits.programs;
    const rules = new Map<string, TableRule>();
    const hits = [...table.ofOptions, ...table.onRoutes].flatMap((rule) => {
      const hit = hitOf(rule, given);
      if (!hit || rules.has(hit.key)) return [];
      rules.set(hit.key, rule);
      return [hit];
    });
    const states = await statesOf(this.limits, hits);
    const notes = new Map((await this.blocks.read()).map((note) => [keyOf(note), note]));
    const restrictions = new Map<string, Restriction>();
    const found = states.flatMap((state): readonly FoundRule[] => {
      const { hit, blockedMs } = state;
      const { name, current, dynamic } = rules.get(hit.key)!;
      const exception = current.exceptions?.get(exceptionKey(hit.subject));
      if (exception) restrictions.set(`${name} exception`, exceptionOf(secret, exception));
      if (blockedMs !== undefined) {
        const note = { rule: name, subject: subjectText(hit.subject) };
        restrictions.set(`${name} block`, blockOf(secret, notes.get(keyOf(note)) ?? note, blockedMs));
      }
      const isKnown = dynamic.length === 0 && hasFigures(state);
      const isUsed = isKnown && (!state.allowed || state.remaining < state.limit);
      if (!isUsed && !exception && blockedMs === undefined) return [];
      return [foundRule(secret, name, state, isKnown)];
    });
    return { rules: found, unused: states.length - found.length, restrictions: [...restrictions.values()] };
  }

  private blockHits({ rule, subject }: NotedBlock): readonly RuleHit[] {
    const counted = subjectOfText(subject);
    const rules = this.limits.programs.table.rulesNamed(rule);
    const hits: RuleHit[] = [];
    // An exception that does not fit the rule is reported elsewhere.
    for (const each of rules) problemsOf(() => hits.push(...each.hitsOf(counted, 0)));
    return hits.filter((hit) => hit.block && hit.rule.trialOf === undefined);
  }
}

/** Returns the exception that an id names; `undefined` if there is none. */
export function exceptionWithId(
  secret: string,
  exceptions: readonly HeldRule[],
  id: string,
): HeldRule | undefined {
  return exceptions.find((each) => exceptionOf(secret, each).subject.id === id);
}

/** Returns the hit of a subject as a person writes it; `undefined` if the rule counts by other subjects. */
function hitOf(rule: TableRule, given: string): RuleHit | undefined {
  for (const subject of formsOf(given)) {
    let hits: readonly RuleHit[] = [];
    problemsOf(() => (hits = rule.hits('reset', subject, undefined)));
    const hit = hits.find((each) => each.rule.trialOf === undefined);
    if (hit) return hit;
  }
  return undefined;
}

function formsOf(given: string): readonly (string | readonly string[])[] {
  const text = given.trim();
  const list = text.includes('|') ? [text.split('|').map((part) => part.trim())] : [];
  return [text, ...list];
}

function exceptionOf(secret: string, exception: HeldRule): Restriction {
  const { rule, subject, fields, by, reason, at, until } = exception;
  const counted: Subject = subjectFromProgram(subjectFromSource(subject!)) ?? '';
  const endsInMs = until === Infinity ? null : Math.max(0, Math.ceil(until - performance.now()));
  return { rule, subject: namedSubject(secret, rule, counted), exception: fields, by, reason, at, endsInMs };
}

function blockOf(
  secret: string,
  { rule, subject, by, reason, at }: NotedBlock,
  endsInMs: number,
): Restriction {
  return { rule, subject: namedSubject(secret, rule, subjectOfText(subject)), by, reason, at, endsInMs };
}

function foundRule(secret: string, rule: string, state: SubjectState, isKnown: boolean): FoundRule {
  const { hit, limit, remaining, resetAfterMs, retryAfterMs, allowed } = state;
  return {
    rule,
    route: hit.route ?? null,
    subject: namedSubject(secret, rule, hit.subject),
    figures: isKnown ? { limit, remaining, resetAfterMs, retryAfterMs, allowed } : null,
  };
}

function keyOf({ rule, subject }: Pick<NotedBlock, 'rule' | 'subject'>): string {
  return JSON.stringify([rule, subject]);
}
