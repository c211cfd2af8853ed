import type { DecideOptions, Hit, Store, Result } from '../../lib/store.js';
import { decide, nothing, silent, type Act } from './act.js';
import { Charges, isDenied, MOST_OWED } from './charges.js';
import { PlayedRules } from './played-rules.js';
import type { Gap } from './random-gap.js';
import type { Deed, MaxWait, Timeline } from './random-timeline.js';

type Consume = Pick<Deed & { does: 'consume' }, 'costs' | 'maxWait'>;

const DAY = 86_400e6;

/** The state of a timeline that is being played: its rules, the time, and the charges. */
export class Play {
  readonly rules: PlayedRules;
  /** Microseconds since the epoch. */
  now: number;
  private readonly charges = new Charges();
  private results: readonly Result[] = [];
  private resetAt = 0;
  private asked: { requests: readonly (readonly Hit[])[]; ask: DecideOptions } | undefined;

  constructor(timeline: Timeline, prefix: string) {
    this.rules = new PlayedRules(timeline, prefix);
    this.now = this.rules.start;
  }

  /** Advances the time by a gap. Returns its length. */
  pass(gap: Gap & Pick<Deed, 'does'>): number {
    const before = this.now;
    this.now += this.microsecondsUntil(gap);
    // On a server, nothing else happens in the microsecond of a reset.
    while (this.now === this.resetAt || (gap.does === 'reset' && this.now === before)) this.now += 1;
    if (gap.does === 'reset') this.resetAt = this.now;
    return this.now - before;
  }

  /** The calls that a step makes to any store. */
  prepare(deed: Deed): Act {
    const { rules, now } = this;
    this.asked = undefined;
    rules.nextTenant();
    switch (deed.does) {
      case 'consume':
        return this.consume(deed, false);
      case 'peek':
        return this.consume({ costs: [deed.cost], maxWait: 'none' }, true);
      case 'block':
        return this.block(deed.index, deed.twelfths);
      case 'reset':
        return silent(async (store) => {
          await store.reset(rules.blockable(now));
        });
      case 'change':
        rules.change(deed.index, deed.to);
        return nothing;
      default:
        return this.charges.adjust(deed);
    }
  }

  /** Returns the decisions after a number of microseconds, if nothing happens meanwhile: of the first hit. */
  async foretell(wait: number, deed: Consume, store: Store): Promise<Result & { unblocked: Result }> {
    this.now += wait;
    const [verdict] = await this.consume(deed, true)(store);
    const [unblocked] = await this.unblocked(store);
    this.now -= wait;
    return { ...(verdict as Result), unblocked: unblocked! };
  }

  /** Returns the decision of each hit as if no subject were blocked. */
  async unblocked(store: Store): Promise<readonly Result[]> {
    if (!this.asked) return [];
    const { requests, ask } = this.asked;
    const hits = requests.flat().map((hit) => ({ ...hit, block: undefined, shadow: true }));
    return store.decide(hits, { ...ask, dryRun: true });
  }

  /** Records the charges of a result and its waits; returns whether all hits were denied. */
  note(answers: readonly unknown[]): boolean {
    if (!this.asked || this.asked.ask.dryRun) return false;
    const results = answers as readonly Result[];
    this.results = results;
    const denials = this.asked.requests.map((hits, index) => {
      const own = results.slice(index * hits.length, (index + 1) * hits.length);
      this.charges.note(hits, own, this.now);
      return isDenied(hits, own);
    });
    return !denials.includes(false);
  }

  private consume({ costs, maxWait }: Consume, dryRun: boolean): Act {
    const atMost = maxWait === 'endless' ? MOST_OWED : Infinity;
    const requests = costs.map((cost) => this.rules.hits(this.now, cost, atMost));
    this.asked = { requests, ask: { maxWait: this.maxWait(maxWait), dryRun } };
    return decide(requests, this.asked.ask);
  }

  private maxWait(maxWait: MaxWait): number {
    if (maxWait === 'none') return 0;
    return maxWait === 'endless' ? Infinity : this.rules.share(maxWait);
  }

  private block(index: number, twelfths: number): Act {
    const counter = this.rules.counters(this.now)[index]!;
    if (!counter.block) return nothing;
    return silent((store) => store.block(counter, Math.max(1, this.rules.share(twelfths))));
  }

  private microsecondsUntil(gap: Gap): number {
    const resetAfter = Math.max(0, ...this.results.map((verdict) => verdict.resetAfter));
    switch (gap.after) {
      case 'microseconds':
        return gap.microseconds;
      case 'twelfths':
        return this.rules.share(gap.twelfths) + gap.nudge;
      case 'step':
        return gap.seconds * 1e6;
      case 'retry':
        return Math.max(0, ...this.results.map(({ retryAfter }) => retryAfter ?? 0)) + gap.nudge;
      case 'reset':
        return resetAfter + gap.nudge;
      case 'memory':
        return resetAfter + DAY + gap.nudge;
    }
  }
}
