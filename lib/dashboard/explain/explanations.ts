import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { hostname } from 'node:os';
import { escaped } from '../../contracts/shown.js';
import type { SourcedRule } from '../../contracts/rule-source.js';
import { readOptions } from '../../contracts/options.js';
import { rejectConfig, rejectValue } from '../../contracts/rate-limit-config.error.js';
import { denialIds, hasWritten } from '../../limiter/denial-id.js';
import type { Explanation, ExplainedRule, RecordedRequests } from '../../nest/explanation.js';
import { AUTHOR } from '../../live/change-options.js';
import type { HeldRule } from '../../nest/rules/rule-changes.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { type EventSubject, subjectForPrograms } from '../../rules/subject.js';
import { ProcessReports } from '../collect/process-reports.js';
import { subjectOfText, subjectText } from '../collect/masked.js';
import { MOST_RESULTS, type RecordedResult } from '../collect/denial-record.js';

/** Milliseconds that an explanation takes at most: the owner and the other processes look for questions once a second. */
const LONGEST_MS = 2800;

/** A denial as processes send it to one another: subjects are texts. */
type SentDenial = Pick<Explanation<string>, 'at' | 'process' | 'rules'>;

/** The requests of a subject that a process wants from the others. */
type WantedRequests = Pick<ExplainedRule<string>, 'rule' | 'subject' | 'route'>;

const NOT_RECORDED = `This denial is not recorded: a process keeps the results of its last ${MOST_RESULTS.toLocaleString('en')}, and none of \`peek\`.`;

/** Explains denials of all processes. */
@Injectable()
export class Explanations implements OnModuleInit {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(RateLimitService) private readonly limits: RateLimitService,
  ) {
    processes.answerBy('explain', (id) => this.own(id));
    processes.answerBy('requests', (text) => this.recorded(JSON.parse(text) as WantedRequests[]));
  }

  onModuleInit(): void {
    this.limits.explainer = (id, options) => this.of(id, options);
  }

  /**
   * Explains a denial, and logs to whom: its subjects are personal data.
   *
   * @param given the id, with or without `#`
   * @throws RateLimitConfigError if denials are not recorded, or an argument is invalid
   * @throws ServiceUnavailableException if Redis cannot be read
   */
  async of(given: string, options: { readonly by: string }): Promise<Explanation<EventSubject>> {
    const { by } = readOptions('explain', options, { by: AUTHOR });
    const id = checkedId(given);
    if (!this.processes.collector.denials) rejectConfig(OFF);
    this.logger.log(`An explanation of the denial ${id} was requested by "${escaped(by)}".`);
    const until = performance.now() + LONGEST_MS;
    const denial = this.own(id) ?? (await this.ofOthers(id, until));
    if (typeof denial === 'string') return { id, problem: denial, rules: [] };
    return { id, ...(await this.withRequests(denial, until)) };
  }

  /** Returns a denial of this process; `undefined` if it is not one, or not recorded. */
  private own(id: string): SentDenial | undefined {
    const results = this.processes.collector.denials?.find(id) ?? [];
    if (results.length === 0) return undefined;
    const process_ = { host: hostname(), pid: process.pid };
    return { at: results[0]!.at, process: process_, rules: results.map(sentRule) };
  }

  /** Returns a denial of another process, or why there is none, as a sentence. */
  private async ofOthers(id: string, until: number): Promise<SentDenial | string> {
    const [known, { reports }] = await Promise.all([this.processes.writers(), this.processes.all()]);
    const found = known.filter(({ key }) => hasWritten(Buffer.from(key, 'hex'), id));
    const [writer] = found;
    const isOwn = hasWritten(denialIds.key, id);
    if (!writer) return isOwn ? NOT_RECORDED : UNKNOWN;
    const ids = found.map((each) => each.id);
    const waitMs = until - performance.now();
    const answers = await this.processes.ask('explain', id, { ids, waitMs, queueMs: waitMs });
    const answer = answers.find((text) => text !== null);
    if (typeof answer === 'string') return JSON.parse(answer) as SentDenial;
    if (isOwn) return NOT_RECORDED;
    const report = reports.find((each) => ids.includes(each.id));
    return report?.isCurrent ? SILENT : lastSeen(writer.seenAt, !!report?.hasEnded);
  }

  /** Adds the requests that all processes have recorded of the subjects. */
  private async withRequests({ rules, at = 0, ...denial }: SentDenial, until: number) {
    const wanted = rules.filter(({ allowed, shadow }) => !allowed && !shadow);
    const asked = { queueMs: 0, waitMs: Math.max(0, until - performance.now()) };
    const answers = this.processes.ask('requests', JSON.stringify(wanted), asked);
    const texts = await answers.catch((): readonly null[] => [null]);
    const others = texts.map((text) => JSON.parse(text ?? '[]') as readonly RecordedRequests[]);
    const all = [this.recorded(wanted), ...others];
    const explained = rules.map((each) => {
      const nth = wanted.indexOf(each);
      const lists = all.flatMap((list) => list[nth] ?? []);
      const recorded = nth >= 0 && { recorded: merged(lists, at) };
      return { ...each, subject: subjectForPrograms(subjectOfText(each.subject)), ...recorded };
    });
    const problem = texts.includes(null) && { problem: UNSENT };
    return { ...denial, ...problem, at, rules: explained };
  }

  private recorded(wanted: readonly WantedRequests[]): readonly RecordedRequests[] {
    const { rules, clock } = this.processes.collector;
    return wanted.map(
      ({ rule, subject, route }) => rules.get(rule)?.recorded(clock(), subject, route) ?? NOTHING,
    );
  }
}

function lastSeen(at: number, hasEnded: boolean): string {
  const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
  return hasEnded
    ? `The process that wrote this id ended at ${time} UTC; its denials ended with it.`
    : `The process that wrote this id has reported nothing since ${time} UTC: if it has ended, its denials ended with it.`;
}

const OFF = 'explain: denials are not recorded, since RateLimitDashboardModule has explain: false';

const UNSENT = 'A process has not sent the requests that it recorded.';

const UNKNOWN = 'No known process of this application has written this id.';

const SILENT =
  'The process that wrote this id has not answered, or no longer has the denial; try again in 5 seconds.';

const NOTHING: RecordedRequests = { share: 1, isWhole: true, requests: [] };

/** @throws RateLimitConfigError if it is not the id of a denial */
function checkedId(given: unknown): string {
  const id = typeof given === 'string' ? /^\s*#?([\w-]{12})\s*$/.exec(given)?.[1] : undefined;
  if (id !== undefined) return id;
  rejectValue('explain', given, 'the id of a denial, which has 12 characters, such as "q7Xk0aV3mJtE"');
}

function sentRule(recorded: RecordedResult): ExplainedRule<string> {
  const { result, source, subject = '', route, cost, change, exception } = recorded;
  return {
    ...result,
    source,
    subject: subjectText(subject),
    ...(route !== undefined && { route }),
    cost,
    ...(change && { change: withoutEnd(change) }),
    ...(exception && { exception: withoutEnd(exception) }),
  };
}

/** The end is a time of the monotonic clock of this process. */
function withoutEnd({ until: _until, expiresInMs: _expires, ...change }: HeldRule): SourcedRule {
  return change;
}

/** Returns the requests of all processes until an instant. */
function merged(lists: readonly RecordedRequests[], until: number): RecordedRequests {
  const requests = lists.flatMap((each) => each.requests).filter(({ at }) => at <= until);
  return {
    share: Math.min(...lists.map(({ share }) => share)),
    isWhole: lists.every(({ isWhole }) => isWhole),
    requests: requests.sort((one, other) => one.at - other.at),
  };
}
