import { Inject, Injectable, Logger, UnprocessableEntityException } from '@nestjs/common';
import { isFields } from '../../contracts/fields.js';
import { escaped } from '../../contracts/shown.js';
import { parseDuration, type Duration } from '../../contracts/duration.js';
import type { OptionCheck } from '../../contracts/options.js';
import { blockHits, resetHits } from '../../limiter/program-operations.js';
import type { LiveRuleFields } from '../../live/change-options.js';
import { type Subject, subjectForPrograms, subjectFromSource } from '../../rules/subject.js';
import { eachOnce, everyHit, isPlain } from '../../nest/programs/program-rules.js';
import type { TableRule } from '../../nest/rules/rule-table.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { ProcessReports } from '../collect/process-reports.js';
import { blockKey, Blocks } from './blocks.js';
import { hitsOf } from './remaining-permits.js';
import { plainText, shownLive, subjectOfId, subjectOfText, subjectText } from '../collect/masked.js';

/** Maximum number of subjects that are unmasked in one request. */
const MOST_UNMASKED = 100;
const LONGEST_REASON = 1024;
const REASON = 'blocked on the operations page';

/** The fields of a body: those that the checks of a change name. */
export interface Given {
  readonly rule: string;
  /** The id of a subject; to find one, the subject as a person writes it. */
  readonly subject: string;
  /** The id of a denial. */
  readonly id: string;
  /** The subjects to unmask. */
  readonly subjects: readonly Readonly<Record<'rule' | 'id', string>>[];
  readonly fields: LiveRuleFields;
  readonly expires: Duration;
  readonly version: number;
  readonly reason?: string;
  /** The author: not of the body. */
  readonly by: string;
}

/** The check of subjects to unmask. */
export const SUBJECTS: OptionCheck = {
  allowed: `a list of 1 to ${MOST_UNMASKED} { rule, id }`,
  accepts: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= MOST_UNMASKED && value.every(isSubject),
  isRequired: true,
};

function isSubject(value: unknown): boolean {
  return isFields(value) && typeof value['rule'] === 'string' && typeof value['id'] === 'string';
}

/** Resets, blocks and unmasks the subjects that the page lists. */
@Injectable()
export class SubjectActions {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(Blocks) private readonly blocks: Blocks,
  ) {}

  /**
   * Deletes the counters and blocks of a subject under a rule, on every route.
   *
   * @throws UnprocessableEntityException if there is no such subject
   * @throws RateLimitStoreError if Redis did not confirm the reset
   */
  async reset({ rule, subject: id, by }: Given): Promise<{ readonly reset: boolean }> {
    const { subject, rules } = await this.find(rule, id);
    const hits = eachOnce(rules.flatMap((rule) => everyHit(rule, subject)));
    const hadState = await resetHits(this.limits.engine, hits);
    await this.blocks.remove({ rule, subject: subjectText(subject) });
    return { reset: (await this.unexcept(rule, subject, by)) || hadState };
  }

  /**
   * Blocks a subject under a rule, on every route: by the block of the rule, or by a live exception if the rule has none.
   *
   * @throws UnprocessableEntityException if there is no such subject, or the rule cannot block it
   * @throws RateLimitStoreError if Redis did not confirm the block
   */
  async block({ rule, subject: id, ...options }: Given): Promise<void> {
    const { expires, by, reason } = options;
    const { subject, rules } = await this.find(rule, id);
    const microseconds = parseDuration(expires)!;
    const hits = hitsOf(rules, subject).filter(({ block }) => block);
    if (hits.length > 0) {
      const block = { rule, subject: subjectText(subject), by, ...(reason !== undefined && { reason }) };
      await blockHits(this.limits.engine, hits, microseconds);
      await this.blocks.note(block, microseconds / 1000);
      return;
    }
    if (!this.limits.rules.source?.write || !rules.every((each) => isPlain(each, subject))) {
      throw new UnprocessableEntityException(
        `Rule "${rule}" has no block. Set its field \`block\`, to "manual" if only the page may block.`,
      );
    }
    const why = reason === undefined ? REASON : `${REASON}: ${reason}`.slice(0, LONGEST_REASON);
    const excepted = subjectForPrograms(subject);
    await this.limits.rules.setException(rule, excepted, 'deny', { ...options, reason: why });
  }

  /**
   * Ends a block: a subject that an operation has blocked keeps its counters; a denial would begin the block again, so that
   * its counters are reset.
   *
   * @throws UnprocessableEntityException if there is no such subject
   * @throws RateLimitStoreError if Redis did not confirm it
   */
  async unblock(given: Given): Promise<void> {
    const { rule } = given;
    const { subject, rules } = await this.find(rule, given.subject);
    const block = { rule, subject: subjectText(subject) };
    const hits = hitsOf(rules, subject).filter(({ block }) => block);
    await blockHits(this.limits.engine, hits, 0);
    const note = (await this.blocks.read()).find((each) => blockKey(each) === blockKey(block));
    if (note && note.by === undefined) await this.reset(given);
    else await this.blocks.remove(block);
  }

  /**
   * Removes an exception of a subject.
   *
   * @throws UnprocessableEntityException if there is none, or not any more
   */
  async unset({ rule, subject: id, by }: Given): Promise<void> {
    const { secret } = await this.processes.all();
    const { rules, table } = this.limits;
    const { exceptions = [] } = table.changes.get(rule) ?? {};
    const found = exceptions.find((each) => shownLive(secret, each).subject?.id === id);
    if (!found) throw new UnprocessableEntityException('There is no such exception any more.');
    const { subject, version } = found;
    await rules.unsetException(rule, subjectFromSource(subject!), { by, ...(version && { version }) });
  }

  /**
   * Sets fields of a rule for one subject.
   *
   * @throws UnprocessableEntityException if there is no such subject
   */
  async set({ rule, subject: id, fields, ...options }: Given): Promise<number> {
    const { subject } = await this.find(rule, id);
    return this.limits.rules.setException(rule, subjectForPrograms(subject), fields, options);
  }

  /** Returns the text of a subject, see `subjectText`. */
  async textOf(rule: string, id: string): Promise<string> {
    return subjectText((await this.find(rule, id)).subject);
  }

  /**
   * Returns the texts of subjects, and logs who has seen them: by their ids, since a log holds no subjects. Whatever names
   * a subject on the page has its masked text and its id, which only this method decrypts for the page.
   *
   * @throws UnprocessableEntityException if an id is of no subject of its rule
   */
  async unmask({ subjects: wanted, by }: Given): Promise<{ readonly subjects: readonly string[] }> {
    const subjects = await Promise.all(wanted.map(({ rule, id }) => this.subjectOf(rule, id)));
    const ids = wanted.map(({ rule, id }) => `${id} of rule "${escaped(rule)}"`);
    this.logger.log(`Operations page: "${escaped(by)}" has seen the subject with the id ${ids.join(', ')}.`);
    return { subjects: subjects.map((subject) => plainText(subjectForPrograms(subject))) };
  }

  private async find(rule: string, id: string): Promise<{ subject: Subject; rules: readonly TableRule[] }> {
    const subject = await this.subjectOf(rule, id);
    const rules = this.limits.table.rulesNamed(rule);
    if (rules.length === 0) throw unknownSubject(rule);
    return { subject, rules };
  }

  private async subjectOf(rule: string, id: string): Promise<Subject> {
    const { secret } = await this.processes.all();
    const text = subjectOfId(secret, rule, id);
    if (text === undefined) throw unknownSubject(rule);
    return subjectOfText(text);
  }

  /** Removes the exception that `block` has set. */
  private async unexcept(rule: string, subject: Subject, by: string): Promise<boolean> {
    if (!this.limits.rules.source?.write) return false;
    const excepted = subjectForPrograms(subject);
    const held = await this.limits.rules.get(rule, excepted);
    if (!held?.reason?.startsWith(REASON)) return false;
    await this.limits.rules.unsetException(rule, excepted, { by });
    return true;
  }
}

function unknownSubject(rule: string): Error {
  return new UnprocessableEntityException(`There is no such subject of rule "${rule}"; reload the page.`);
}
