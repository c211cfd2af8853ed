import { Inject, Injectable } from '@nestjs/common';
import { ifValid } from '../../contracts/rate-limit-config.error.js';
import type { CompiledRule, RuleHit } from '../../rules/compiled-rule.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { exceptionKey, type HeldRule } from '../../nest/rules/rule-changes.js';
import { subjectOfProgram } from '../../nest/programs/program-rules.js';
import type { TableRule } from '../../nest/rules/rule-table.js';
import { ProcessReports } from '../collect/process-reports.js';
import type { FoundRule, FoundSubject, Restriction } from '../snapshot.js';
import { blockKey, Blocks, type ListedBlock, type NotedBlock } from './blocks.js';
import { namedSubject, shownLive, subjectOfText, subjectText } from '../collect/masked.js';
import { hitsOf, knownHits, statesOf, type SubjectState } from './remaining-permits.js';

/** By how much the clocks of processes may differ that note the ends of blocks. */
const CLOCKS_DIFFER_BY_MS = 60_000;

/** Finds subjects, and what restricts them: blocks and exceptions. */
@Injectable()
export class Restrictions {
  constructor(
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(Blocks) private readonly blocks: Blocks,
  ) {}

  /**
   * Returns all exceptions, and the blocks and subjects above a threshold that are listed: not those that have ended, as far
   * as this process can know.
   *
   * @throws ServiceUnavailableException if Redis cannot be read
   */
  async list(): Promise<FoundSubject> {
    const { secret } = await this.processes.all();
    const notes = await this.blocks.read();
    const hits = notes.map((note) => this.blockHits(note));
    const states = (await statesOf(this.limits, hits.flat())).values();
    const blocks = notes.flatMap((note, index) => {
      const own = hits[index]!.map(() => states.next().value!);
      const endsInMs = endOf(note, own);
      return endsInMs > 0 ? [blockOf(secret, note, endsInMs)] : [];
    });
    const exceptions = [...this.limits.table.changes.values()].flatMap((each) => each.exceptions);
    const restrictions = [...exceptions.map((exception) => exceptionOf(secret, exception)), ...blocks];
    return { rules: await this.aboveThresholds(secret), unused: 0, restrictions };
  }

  /**
   * Returns what each rule has decided for a subject, and what restricts it.
   *
   * @param given the subject as a person writes it; the parts of a list between `|`
   */
  async find(given: string): Promise<FoundSubject> {
    const { secret } = await this.processes.all();
    const { table } = this.limits;
    const rules = new Map<string, TableRule>();
    const hits = [...table.ofOptions, ...table.onRoutes].flatMap((rule) =>
      hitsOfText(rule, given).filter(({ key }) => !rules.has(key) && rules.set(key, rule)),
    );
    const states = await statesOf(this.limits, hits);
    const listed = await this.blocks.read().catch((error: unknown) => error as Error);
    const notes = new Map((listed instanceof Error ? [] : listed).map((note) => [blockKey(note), note]));
    const restrictions = new Map<string, Restriction>();
    const used = new Set<TableRule>();
    const undecided = new Set<TableRule>();
    const found = states.flatMap((state): readonly FoundRule[] => {
      const { hit } = state;
      const rule = rules.get(hit.key)!;
      const { name, current, dynamic } = rule;
      const exception = current.exceptions?.get(exceptionKey(hit.subject));
      const block = { rule: name, subject: subjectText(hit.subject), by: 'unknown' };
      const key = blockKey(block);
      if (exception) restrictions.set(`${key} exception`, exceptionOf(secret, exception));
      const note = notes.get(key);
      const endsInMs = endOf(note, [state]);
      if (endsInMs > 0) restrictions.set(`${key} block`, blockOf(secret, note ?? block, endsInMs));
      const isDecided = state.fallback === undefined; // The fallback has the share of this process only.
      if (!isDecided) undecided.add(rule);
      const isKnown = dynamic.length === 0 && isDecided;
      const isUsed = isKnown && (!state.allowed || state.remaining < state.limit);
      if (!isUsed && !exception && endsInMs === 0) return [];
      used.add(rule);
      return [foundRule(secret, name, state, isKnown)];
    });
    const unused = new Set(rules.values()).size - new Set([...used, ...undecided]).size;
    const problem = missing(undecided.size, listed);
    return {
      rules: found,
      unused,
      restrictions: [...restrictions.values()],
      ...(problem !== '' && { problem }),
    };
  }

  /** Returns the counters of subjects above a threshold; without figures if this process does not know them. */
  private async aboveThresholds(secret: string): Promise<readonly FoundRule[]> {
    const notes = await this.blocks.crossed();
    const hits = notes.map((note) => knownHits(this.limits, note));
    const states = (await statesOf(this.limits, hits.flat())).values();
    const found = notes.flatMap(({ rule, subject, threshold }, index): FoundRule[] => {
      const own = hits[index]!.map(() => states.next().value!);
      const decided = own.filter(({ fallback }) => fallback === undefined);
      const known = decided.map((state) => foundRule(secret, rule, state, true));
      if (known.length > 0) return known.filter((each) => each.threshold !== null);
      const named = namedSubject(secret, rule, subjectOfText(subject));
      return [{ rule, route: null, subject: named, figures: null, threshold }];
    });
    return found.sort((one, other) => other.threshold! - one.threshold!);
  }

  private blockHits({ rule, subject }: NotedBlock): readonly RuleHit[] {
    const rules = this.limits.table.rulesNamed(rule);
    return hitsOf(rules, subjectOfText(subject)).filter(({ block }) => block);
  }
}

/** Returns what a search lacks, and why; an empty text if it is complete. */
function missing(undecided: number, listed: unknown): string {
  const texts = [
    undecided > 0 && `What it has left is not known for rules that Redis cannot decide: ${undecided}.`,
    listed instanceof Error && `Authors and reasons of its blocks are missing. ${listed.message}`,
  ];
  return texts.filter(Boolean).join(' ');
}

/** Returns milliseconds until a block ends: by its note if the fallback decides, or this process does not block by the rule. */
function endOf(note: ListedBlock | undefined, states: readonly SubjectState[]): number {
  const isKnown = states.length > 0 && states.every(({ fallback }) => fallback === undefined);
  const noted = isKnown || !note ? 0 : Math.ceil(note.until - Date.now());
  return Math.max(noted, 0, ...states.map(({ blockedMs = 0 }) => blockedMs));
}

/**
 * Returns the hits of a subject as a person writes it, and of requests that are counted by this IP because they have no
 * subject; none if the rule counts by other subjects.
 */
function hitsOfText(rule: TableRule, given: string): readonly RuleHit[] {
  const text = given.trim();
  const list = text.split('|').map((part) => part.trim());
  const hits = [text, list.length > 1 ? list : ['', text]].flatMap(
    (subject) => ifValid(() => rule.hitsOf(subjectOfProgram(rule, subject), undefined)) ?? [],
  );
  return hits.filter((each) => each.rule.trialOf === undefined);
}

function exceptionOf(secret: string, exception: HeldRule): Restriction {
  const { rule, subject, fields, by, reason, at, until } = shownLive(secret, exception);
  const endsInMs = until === Infinity ? null : Math.max(0, Math.ceil(until - performance.now()));
  return { rule, subject: subject!, exception: fields, by, reason, at, endsInMs };
}

/** Of a block with another end, since a reset has ended the one of the note, the author is not known. */
function blockOf(secret: string, note: NotedBlock & Partial<ListedBlock>, endsInMs: number): Restriction {
  const { rule, subject, by, reason, at, until = NaN } = note;
  const isOther = Math.abs(until - Date.now() - endsInMs) > CLOCKS_DIFFER_BY_MS;
  const author = isOther ? {} : { by, reason, at };
  return { rule, subject: namedSubject(secret, rule, subjectOfText(subject)), ...author, endsInMs };
}

function foundRule(secret: string, rule: string, state: SubjectState, isKnown: boolean): FoundRule {
  const { hit, limit, remaining, resetAfterMs, retryAfterMs, allowed } = state;
  return {
    rule,
    route: hit.route ?? null,
    subject: namedSubject(secret, rule, hit.subject),
    figures: isKnown ? { limit, remaining, resetAfterMs, retryAfterMs, allowed } : null,
    threshold: isKnown ? thresholdOf(hit.rule, remaining) : null,
  };
}

/** Returns the highest threshold that a counter is above. Of 1, the permits left are fewer than the cost of a request. */
function thresholdOf({ thresholds, cost }: CompiledRule, remaining: number): number | null {
  const isAbove = (level: number): boolean => remaining <= (level < 0 ? cost - 1 : level);
  const above = thresholds?.at.filter((_, nth) => isAbove(thresholds.levels[nth]!)) ?? [];
  return above.length === 0 ? null : Math.max(...above);
}
