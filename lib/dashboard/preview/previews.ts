import {
  Inject,
  Injectable,
  ServiceUnavailableException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { rejectAny } from '../../contracts/rate-limit-config.error.js';
import { loaded } from '../../nest/rules/named-parts.js';
import type { RuleChanges } from '../../nest/rules/rule-changes.js';
import { RuleTable, type TableRule } from '../../nest/rules/rule-table.js';
import * as variation from '../../nest/rules/varied-rule.js';
import { BUSY, ProcessReports } from '../collect/process-reports.js';
import type { Preview } from '../snapshot.js';
import { replayedRule, replayTraffic, whyNoPreview, type ReplayedRule } from './replay-traffic.js';
import {
  hashOf,
  mergeTraffic,
  readTraffic,
  routeHash,
  type RecordedTraffic,
} from '../collect/traffic-record.js';

loaded.variation = variation; // An application without live rules has not loaded it.

/** Maximum number of rules whose records a process requests from the others, one request at a time. */
const MOST_ASKED = 4;

/** Replays the requests of the last ten minutes, of all processes, with other fields of a rule. */
@Injectable()
export class Previews {
  /** The requests of the other processes by rule, while they are asked for: previews of a rule share them. */
  private readonly asked = new Map<string, Promise<readonly RecordedTraffic[]>>();

  constructor(
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(RuleTable) private readonly table: RuleTable,
  ) {
    processes.answerBy('preview', (rule) => this.recorded(rule));
  }

  /**
   * Returns the effect of a live change.
   *
   * @param subject the text of the only subject that it is for; absent for a change for all
   * @throws RateLimitConfigError if it does not fit the rule
   * @throws UnprocessableEntityException if the rule depends on more than what is recorded
   */
  async of(rule: string, fields: Readonly<Record<string, unknown>>, subject?: string): Promise<Preview> {
    const change = { layer: { rule, fields, until: Infinity }, exceptions: [] };
    const exceptions = this.table.changes.get(rule)?.exceptions ?? []; // They have to fit, as for the change itself.
    rejectAny(this.table.problemsOf(rule, { ...change, exceptions }));
    const named = this.table.rulesNamed(rule);
    /** The rule on each route, by the hash of the route; 0 if routes share its counters. */
    const rules = new Map(
      named.map((each) => [routeHash(each.route), replayed(each, change, subject !== undefined)]),
    );
    const others = await (this.asked.get(rule) ?? this.askOthers(rule));
    const { requests, ...traffic } = mergeTraffic([this.recorded(rule), ...others]);
    const one = subject === undefined ? undefined : hashOf(subject);
    const meant = requests.filter((each) => one === undefined || each.subject === one);
    const now = this.processes.collector.clock();
    return replayTraffic({ ...traffic, requests: meant }, (route) => rules.get(route), now);
  }

  /** @throws ServiceUnavailableException if previews of too many rules wait */
  private askOthers(rule: string): Promise<readonly RecordedTraffic[]> {
    if (this.asked.size >= MOST_ASKED) throw new ServiceUnavailableException(BUSY);
    const others = this.ofOthers(rule).finally(() => this.asked.delete(rule));
    this.asked.set(rule, others);
    return others;
  }

  private recorded(rule: string): RecordedTraffic {
    const { collector } = this.processes;
    return collector.rules.get(rule)?.traffic.read(collector.clock()) ?? NOTHING;
  }

  /** @throws ServiceUnavailableException if a process does not answer: the preview would lack its requests */
  private async ofOthers(rule: string): Promise<readonly RecordedTraffic[]> {
    const answers = await this.processes.ask('preview', rule);
    const traffic = answers.map((text) => (text === null ? undefined : readTraffic(text)));
    if (!traffic.includes(undefined)) return traffic as RecordedTraffic[];
    throw new ServiceUnavailableException('A process has not sent its requests; try again in 5 seconds.');
  }
}

const NOTHING: RecordedTraffic = { depth: 0, since: 0, values: [], rows: [] };

/** @throws UnprocessableEntityException if the result depends on more than what is recorded */
function replayed({ declared, current }: TableRule, change: RuleChanges, isForOne: boolean): ReplayedRule {
  const changed = isForOne ? current.fields : variation.changedFields(declared.fields, change);
  const reason = whyNoPreview(changed);
  if (reason !== undefined) throw new UnprocessableEntityException(reason);
  return replayedRule(current.fields, changed, isForOne ? change.layer?.fields : undefined);
}
