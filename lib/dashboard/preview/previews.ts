import {
  Inject,
  Injectable,
  ServiceUnavailableException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import { sleep } from '../../contracts/timer.js';
import type { ProcessRecords } from '../../stores/redis/link/process-records.js';
import { changedFields, type RuleChanges } from '../../nest/rules/rule-changes.js';
import { RuleTable, type TableRule } from '../../nest/rules/rule-table.js';
import { ProcessReports } from '../collect/process-reports.js';
import type { Preview } from '../snapshot.js';
import { whyNoPreview, ReplayedRule } from './replayed-rule.js';
import { replayTraffic } from './replay-traffic.js';
import { mergeTraffic, readTraffic, routeHash, type RecordedTraffic } from './traffic-record.js';

/** Processes look for questions once a second. */
const LONGEST_WAIT_MS = 2500;
/** Processes ask one after another. The page gives up after 15 seconds. */
const LONGEST_QUEUE_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** Maximum number of rules whose records a process requests from the others, one request at a time. */
const MOST_ASKED = 4;
const BUSY = 'Other previews are being calculated; try again in 5 seconds.';

/** Replays the requests of the last ten minutes, of all processes, with other fields of a rule. */
@Injectable()
export class Previews {
  /** The requests of the other processes by rule, while they are asked for: previews of a rule share them. */
  private readonly asked = new Map<string, Promise<readonly RecordedTraffic[]>>();

  constructor(
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(RuleTable) private readonly table: RuleTable,
  ) {
    processes.answer = (rule) => JSON.stringify(this.recorded(rule));
  }

  /**
   * Returns the effect of a live change.
   *
   * @throws RateLimitConfigError if it does not fit the rule
   * @throws UnprocessableEntityException if the rule depends on more than what is recorded
   */
  async of(rule: string, fields: Readonly<Record<string, unknown>>): Promise<Preview> {
    const change = { layer: { rule, fields, until: Infinity }, exceptions: [] };
    const exceptions = this.table.changes.get(rule)?.exceptions ?? []; // They have to fit, as for the change itself.
    const problems = this.table.problemsOf(rule, { ...change, exceptions });
    if (problems.length > 0) throw new RateLimitConfigError(problems);
    const rules = this.rulesOf(rule, change);
    const others = await (this.asked.get(rule) ?? this.askOthers(rule));
    const traffic = mergeTraffic([this.recorded(rule), ...others]);
    return replayTraffic(traffic, (route) => rules.get(route), this.processes.collector.clock());
  }

  /** @throws ServiceUnavailableException if previews of too many rules wait */
  private askOthers(rule: string): Promise<readonly RecordedTraffic[]> {
    if (this.asked.size >= MOST_ASKED) throw new ServiceUnavailableException(BUSY);
    const others = this.ofOthers(rule).finally(() => this.asked.delete(rule));
    this.asked.set(rule, others);
    return others;
  }

  /** The rule on each route, by the hash of the route; 0 if routes share its counters. */
  private rulesOf(rule: string, change: RuleChanges): Map<number, ReplayedRule> {
    const rules = this.table.rulesNamed(rule);
    return new Map(rules.map((each) => [routeHash(each.route), replayed(each, change)]));
  }

  private recorded(rule: string): RecordedTraffic {
    const { collector } = this.processes;
    return collector.rules.get(rule)?.traffic.read(collector.clock()) ?? NOTHING;
  }

  /** @throws ServiceUnavailableException if a process does not answer: the preview would lack its requests */
  private async ofOthers(rule: string): Promise<readonly RecordedTraffic[]> {
    const { records, id: own } = this.processes;
    const { reports } = await this.processes.all();
    const ids = reports.map(({ id }) => id).filter((id) => id !== own);
    if (!records || ids.length === 0) return [];
    const answers = await this.answersOf(records, rule, ids).catch((error: unknown) => {
      if (error instanceof ServiceUnavailableException) throw error;
      throw new ServiceUnavailableException(`Redis cannot be read: ${(error as Error).message}`);
    });
    const traffic = answers.map((text) => (text === null ? undefined : readTraffic(text)));
    if (!traffic.includes(undefined)) return traffic as RecordedTraffic[];
    throw new ServiceUnavailableException('A process has not sent its requests; try again in 5 seconds.');
  }

  private async answersOf(
    records: ProcessRecords,
    rule: string,
    ids: readonly string[],
  ): Promise<readonly (string | null)[]> {
    const question = await until(LONGEST_QUEUE_MS, () => records.ask(rule));
    if (!question) throw new ServiceUnavailableException(BUSY);
    try {
      const answers = () => records.answers(question, ids);
      const isComplete = (found: readonly (string | null)[]) => !found.includes(null);
      return await until(LONGEST_WAIT_MS, answers, isComplete);
    } finally {
      await records.close(question);
    }
  }
}

/** Looks again and again until what is found is wanted, and returns it; after a time, whatever is found. */
async function until<Found>(
  longestMs: number,
  look: () => Promise<Found>,
  isWanted: (found: Found) => boolean = Boolean,
): Promise<Found> {
  const end = performance.now() + longestMs;
  for (;;) {
    const found = await look();
    if (isWanted(found) || performance.now() > end) return found;
    await sleep(LOOK_EVERY_MS);
  }
}

const NOTHING: RecordedTraffic = { depth: 0, since: 0, values: [], rows: [] };

/** @throws UnprocessableEntityException if the result depends on more than what is recorded */
function replayed({ declared, current }: TableRule, change: RuleChanges): ReplayedRule {
  const changed = changedFields(declared.fields, change);
  const reason = whyNoPreview(changed);
  if (reason !== undefined) throw new UnprocessableEntityException(reason);
  return new ReplayedRule(current.fields, changed);
}
