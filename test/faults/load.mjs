import { setTimeout as sleep } from 'node:timers/promises';
import { LoopDelay } from './loop-delay.mjs';
import { Phase } from './phase.mjs';

/** The limit of a guest, for every rule. */
export const LIMIT = 5;
const HITS_A_GUEST = 12;
const PEEK_AGAIN_MS = 100;
const PAUSE_MS = 5;

// A day: no window ends during a fault.
const quota = { limit: LIMIT, window: '1d' };
const RULES = [
  { ...quota, algorithm: 'fixed-window' },
  { ...quota, algorithm: 'sliding-window-log' },
  { ...quota, algorithm: 'gcra' },
  [
    { ...quota, name: 'a', algorithm: 'token-bucket' },
    { ...quota, name: 'b', algorithm: 'fixed-window', limit: 2 * LIMIT },
  ],
];
const TALLY = { name: 'tally', algorithm: 'fixed-window', limit: 1e9, window: '1d' };

/**
 * Keeps a number of hits in flight; each is sent shortly after the previous one was decided. Some are of guests who
 * exceed their limit, and some on one counter with an unlimited number of permits, whose total shows what Redis has
 * charged.
 */
export class Load {
  #limiter;
  #inFlight;
  #lanes = [];
  #isOn = false;
  #hits = 0;
  #phases = new Map();
  #phase;
  #delay = new LoopDelay();
  underWay = 0;

  constructor(limiter, inFlight) {
    this.#limiter = limiter;
    this.#inFlight = inFlight;
    this.begin('before');
  }

  /** Assigns hits that begin from now on to this phase, with separate counters. */
  begin(name) {
    this.#phase = new Phase(name);
    this.#phases.set(name, this.#phase);
  }

  start() {
    this.#isOn = true;
    this.#lanes = Array.from({ length: this.#inFlight }, () => this.#lane());
  }

  /** Resolves when every hit in flight is decided. */
  async stop() {
    this.#isOn = false;
    await Promise.all(this.#lanes);
  }

  /** Sends as many hits as are usually in flight, at once. */
  async burst() {
    await Promise.all(Array.from({ length: this.#inFlight }, () => this.#hit(this.#hits++)));
  }

  figures() {
    return Object.fromEntries(Array.from(this.#phases, ([name, phase]) => [name, phase.figures()]));
  }

  /** Returns the total of the unlimited counter for each phase. */
  async tallies() {
    const charged = {};
    for (const name of this.#phases.keys()) {
      charged[name] = TALLY.limit - (await this.#remainingOf(name));
    }
    return charged;
  }

  /** Returns a result of Redis; repeats the call if a busy machine missed the deadline. */
  async #remainingOf(name) {
    for (let attempts = 50; attempts > 0; attempts -= 1) {
      const { remaining, source } = await this.#limiter.peek(TALLY, `tally-${name}`, { cost: 0 });
      if (source === 'redis') return remaining;
      await sleep(PEEK_AGAIN_MS);
    }
    throw new Error(`Redis did not report the tally of ${name}`);
  }

  async #lane() {
    while (this.#isOn) {
      await this.#hit(this.#hits++);
      await sleep(PAUSE_MS);
    }
  }

  async #hit(nth) {
    const phase = this.#phase;
    const isTally = nth % 4 === 0;
    const guest = Math.floor(nth / HITS_A_GUEST);
    const subject = isTally ? `tally-${phase.name}` : `${phase.name}-${guest}`;
    const rules = isTally ? TALLY : RULES[guest % RULES.length];
    const since = this.#delay.total;
    const startedAt = performance.now();
    this.underWay++;
    phase.began(isTally);
    const decision = await this.#limiter.consume(rules, subject);
    this.underWay--;
    const wait = performance.now() - startedAt;
    phase.decided(decision, { wait, isTally, guest });
    this.#delay.next(() => phase.waited(wait - (this.#delay.total - since)));
  }
}
