import { after, type Timer } from '../contracts/timer.js';
import { isFields } from '../contracts/fields.js';
import {
  changeProblem,
  MOST_LIVE_RULES,
  type SourcedRule,
  type SourcedRules,
  type RuleLoss,
  type RuleSource,
} from '../contracts/rule-source.js';
import { messageOf, shown } from '../contracts/shown.js';
import { Logger } from '@nestjs/common';
import {
  problem,
  RateLimitConfigError,
  rejectConfig,
  rejectValue,
} from '../contracts/rate-limit-config.error.js';
import { SubjectDigest } from '../rules/subject.js';
import type { Warnings } from '../nest/warnings.js';
import type { LiveState } from './live-state.js';

/**
 * Returns the result of a source, which may hang.
 *
 * @param within milliseconds
 * @throws Error if there is no result in time
 */
export function inTime<Result>(ask: () => Promise<Result>, within: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error(`no answer within ${within} ms`));
    const timer = after(within, late, true); // With nothing else to do, the process would end in silence.
    Promise.resolve()
      .then(ask)
      .then(resolve, reject)
      .finally(() => timer.stop());
  });
}

/**
 * Returns what a source has loaded. An entry of another form, or one that is too long or nested too deeply,
 * is unreadable, and the others apply.
 *
 * @throws Error if the source returned something else, whatever its type states
 */
export function checkedRules(loaded: unknown): SourcedRules {
  if (!isFields(loaded) || !isVersion(loaded['version']) || !Array.isArray(loaded['entries'])) {
    throw new Error('`load` of the source returned no { version, entries: [{ rule, fields }] }');
  }
  const known = new Set<string>();
  const entries = (loaded['entries'] as unknown[]).map((entry) => {
    const readable = readableRule(entry);
    const { rule, subject } = readable;
    const of = `rule "${rule}"${subject === undefined ? '' : ` for subject ${JSON.stringify(subject)}`}`;
    const name = JSON.stringify([rule, subject]);
    if (known.has(name) && readable.unreadable === undefined)
      throw new Error(`\`load\` of the source returned ${of} twice`);
    known.add(name);
    return readable;
  });
  const { length } = entries.filter(({ expiresInMs }) => !(expiresInMs! <= 0));
  if (length > MOST_LIVE_RULES)
    throw new Error(`\`load\` of the source returned ${length} entries; allowed: at most ${MOST_LIVE_RULES}`);
  return { ...(loaded as unknown as SourcedRules), entries };
}

/**
 * Returns an entry as a copy, because a source may change its own. If the subject is too long, or no rule is named, the copy
 * has a name that no rule has.
 */
function readableRule(given: unknown): SourcedRule {
  const entry = (isFields(given) ? given : {}) as unknown as SourcedRule;
  const { rule, subject, fields } = entry;
  const unreadable = formProblem(given) ?? changeProblem({ rule, subject, fields });
  if (unreadable === undefined) {
    const stated = STATED.filter((field) => ['string', 'number'].includes(typeof entry[field]));
    const others = Object.fromEntries(stated.map((field) => [field, entry[field]]));
    return { ...others, rule, subject: copyOf(subject), fields: copyOf(fields) };
  }
  const isNamed =
    typeof rule === 'string' && changeProblem({ rule, subject, fields: undefined }) === undefined;
  const named = isNamed ? { rule, subject: copyOf(subject) } : { rule: shown([rule, subject]) };
  return { ...named, fields: {}, unreadable };
}

/** Returns what is wrong with an entry, as far as its rule does not check it. */
function formProblem(given: unknown): string | undefined {
  if (!isFields(given) || typeof given['rule'] !== 'string')
    return problem('an entry of the live rules', given, 'an object with the name of a rule, and its fields');
  const { rule, expiresInMs } = given;
  return isDuration(expiresInMs)
    ? undefined
    : problem(`live rule ${shown(rule)}.expiresInMs`, expiresInMs, 'a number of milliseconds');
}

/** The fields of an entry that are a text or a number. */
const STATED = ['expiresInMs', 'version', 'counter', 'by', 'reason', 'at', 'unreadable'] as const;

/** Returns a copy of what `changeProblem` accepts, without `undefined`. A function stays: the rule rejects it by its path. */
function copyOf<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(copyOf) as Value;
  if (!isFields(value) || value instanceof SubjectDigest) return value;
  const stated = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(stated.map(([field, each]) => [field, copyOf(each)])) as Value;
}

function isVersion(version: unknown): boolean {
  return typeof version === 'string' || (typeof version === 'number' && !Number.isNaN(version));
}

/** JSON of a database has `null` for what is absent. */
function isDuration(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'number' && !Number.isNaN(value));
}

/** Milliseconds after which a source that has not loaded its rules counts as unreachable. */
const LOAD_MS = 1000;

/** Milliseconds between attempts to load rules that could not be loaded. */
const RETRY_MS = 500;

/** Milliseconds after a report during a load until the next load: a source may report each of its own loads. */
const AGAIN_MS = 50;

/** Follows the source of live rules: loads its rules at start and after each change. */
export class LiveFollower {
  private readonly logger = new Logger('RateLimit');
  private stop: (() => void) | undefined;
  private retry: Timer | undefined;
  private reading = Promise.resolve();
  private next: Promise<void> | undefined;
  private isLoading = false;
  private isClosed = false;
  version: SourcedRules['version'] | undefined;
  /** What the source has lost; `undefined` if it holds the rules in force. */
  loss: RuleLoss | undefined;

  constructor(
    private readonly source: RuleSource,
    private readonly state: LiveState,
    private readonly warnings: Warnings,
  ) {}

  /** Loads the rules, and follows their changes. Takes at most a second. */
  async start(): Promise<void> {
    await this.read();
    if (this.isClosed) return;
    this.stop = watched(this.source, () => {
      if (this.isLoading) this.readAfter(AGAIN_MS);
      else void this.read();
    });
    void this.read(); // A change before that was not reported.
  }

  /** Loads the rules. A call during a load waits for the next one, which begins after it. */
  read(): Promise<void> {
    this.next ??= this.reading.then(() => {
      this.next = undefined;
      return (this.reading = this.load());
    });
    return this.next;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.retry?.stop();
    this.state.close();
    for (const close of [() => this.stop?.(), () => this.source.close?.()]) {
      try {
        await inTime(async () => close(), LOAD_MS);
      } catch (error) {
        this.logger.error(`The source of live rules cannot be closed: ${reasonOf(error)}`);
      }
    }
  }

  private async load(): Promise<void> {
    if (this.isClosed) return;
    this.retry?.stop();
    this.isLoading = true;
    try {
      const loaded = checkedRules(await inTime(() => this.source.load(), LOAD_MS));
      if (this.isClosed) return;
      if (loaded.version !== this.version) this.state.apply(loaded);
      this.version = loaded.version;
      this.report(loaded);
      if (this.warnings.withdraw('RL_LIVE_RULES_UNREAD'))
        this.logger.log('The live rules can be read again.');
    } catch (error) {
      if (this.isClosed) return;
      const reason = reasonOf(error);
      const stays = this.version === undefined ? 'the rules in the code are' : 'the last live rules stay';
      this.warnings.warn(
        'RL_LIVE_RULES_UNREAD',
        `The live rules cannot be read (${reason}); until they can, ${stays} in force in this process.`,
      );
      this.readAfter(RETRY_MS);
    } finally {
      this.isLoading = false;
    }
  }

  private readAfter(pauseMs: number): void {
    this.retry?.stop();
    this.retry = after(pauseMs, () => void this.read());
  }

  private report({ loss, evicting }: SourcedRules): void {
    this.loss = loss;
    if (loss) {
      this.warnings.warn(
        'RL_LIVE_RULES_LOST',
        `Live rules were lost: ${loss.reason}. The last live rules stay in force, and no change is possible until an ` +
          'operator confirms: rules.restore() stores them again, rules.accept() applies what the source holds.',
      );
    } else if (this.warnings.withdraw('RL_LIVE_RULES_LOST')) {
      this.logger.log('The source holds the live rules in force again.');
    }
    if (typeof evicting !== 'string') this.warnings.withdraw('RL_LIVE_RULES_EVICTED');
    else {
      this.warnings.warn(
        'RL_LIVE_RULES_EVICTED',
        `The Redis of the live rules may delete them when its memory is full (maxmemory-policy ${evicting}). Set ` +
          '`volatile-ttl` or another policy that keeps keys without an expiry, or use another Redis for live rules.',
      );
    }
  }
}

/** What `watch` of a source returns. */
const STOP = 'a function that stops the reports';

/** @throws RateLimitConfigError if `watch` of the source throws, or returns no function */
function watched(source: RuleSource, changed: () => void): () => void {
  let stop: unknown;
  try {
    stop = source.watch(changed);
  } catch (error) {
    rejectConfig(`liveRules.watch: threw ${reasonOf(error)}; it must return ${STOP}`);
  }
  if (typeof stop === 'function') return stop as () => void;
  if (stop instanceof Promise) stop.catch(() => undefined);
  rejectValue('the result of liveRules.watch', stop, `${STOP}; \`watch\` itself is not async`);
}

/** Returns why a source failed, in one line. */
function reasonOf(error: unknown): string {
  if (error instanceof RateLimitConfigError) return error.problems.join('; ');
  return messageOf(error);
}
