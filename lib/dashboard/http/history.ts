import { Inject, Injectable, UnprocessableEntityException } from '@nestjs/common';
import type { Duration } from '../../contracts/duration.js';
import type { RuleChangeRecord } from '../../contracts/rule-source.js';
import type { LiveRuleFields, UnsetOptions } from '../../live/change-options.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { subjectFromSource } from '../../rules/subject.js';
import { ProcessReports } from '../collect/process-reports.js';
import type { HistoryEntry } from '../snapshot.js';
import { shownLive } from '../collect/masked.js';

const MOST_SHOWN = 100;
const MOST_READ = 1000;

type Change = ReturnType<typeof changesOf>[number];

/** The changes of live rules. The last change of each rule and of each exception can be undone. */
@Injectable()
export class History {
  constructor(
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(ProcessReports) private readonly processes: ProcessReports,
  ) {}

  /** Returns the last changes of a rule, and of its exceptions; of all rules without a name. */
  async of(rule: unknown): Promise<readonly HistoryEntry[]> {
    const { secret } = await this.processes.all();
    const isMeant = ({ record }: Change): boolean =>
      rule === undefined || record.rule === rule || record.loss !== undefined;
    const changes = (await this.changes()).filter(isMeant);
    return changes.slice(0, MOST_SHOWN).map((change) => {
      const { inherit: _inherit, ...record } = change.record;
      const before = change.before === null ? null : change.before?.fields;
      const shown = shownLive(secret, record) as HistoryEntry;
      return { ...shown, ...(before !== undefined && { before }), canUndo: this.canUndo(change) };
    });
  }

  /**
   * Puts in force what was in force before a change, with its end, and returns the version after that.
   *
   * @throws UnprocessableEntityException if it is not the last change of its rule or exception any more
   */
  async undo({ version: undone, by, reason = 'undone' }: UnsetOptions): Promise<number> {
    const change = (await this.changes()).find(({ record }) => record.version === undone);
    if (!change || !this.canUndo(change))
      throw new UnprocessableEntityException('This change cannot be undone any more; reload the history.');
    const { record, before } = change;
    const { rule, subject } = record;
    const { rules } = this.limits;
    const options = { by, reason, version: record.fields === undefined ? 0 : record.version };
    const fields = before?.fields as LiveRuleFields | undefined;
    if (fields === undefined) {
      return subject === undefined
        ? rules.unset(rule, options)
        : rules.unsetException(rule, subjectFromSource(subject), options);
    }
    const end = endOf(before!);
    const expires = end < Infinity && { expires: `${end - Date.now()}ms` as Duration };
    return subject === undefined
      ? rules.set(rule, fields, { ...options, ...expires })
      : rules.setException(rule, subjectFromSource(subject), fields, { ...options, ...expires });
  }

  private async changes(): Promise<readonly Change[]> {
    return changesOf(await this.limits.rules.history(MOST_READ));
  }

  private canUndo({ record, before, isLast }: Change): boolean {
    const isInForce = record.fields !== undefined && endOf(record) > Date.now();
    const wasInForce = !!before && endOf(before) > Date.now();
    return !this.limits.rules.loss && isLast && before !== undefined && (isInForce || wasInForce);
  }
}

/**
 * Returns the changes, each with what was in force before it, `null` for the rule in the code, `undefined` if that is
 * unknown, and with whether it is the last one of its rule or exception.
 *
 * @param records the latest first
 */
function changesOf(records: readonly RuleChangeRecord[]) {
  const last = new Map<string, RuleChangeRecord>();
  /** Whether what no record states is unknown: older records are removed, or the source has lost them. */
  let isPartial = records.length >= MOST_READ;
  const changes = records.toReversed().map((record) => {
    isPartial ||= record.loss !== undefined;
    if (record.loss === 'accepted') last.clear();
    const known = last.get(keyOf(record));
    if (record.loss === undefined) last.set(keyOf(record), record);
    const wasInForce = known?.fields !== undefined && endOf(known) > record.at;
    return { record, before: wasInForce ? known : !known && isPartial ? undefined : null };
  });
  return changes
    .map((change) => ({ ...change, isLast: last.get(keyOf(change.record)) === change.record }))
    .toReversed();
}

function keyOf({ rule, subject }: RuleChangeRecord): string {
  return JSON.stringify([rule, subject]);
}

/** When a change ends, in milliseconds since the epoch. */
function endOf({ at, expiresInMs }: RuleChangeRecord): number {
  return at + (expiresInMs ?? Infinity);
}
