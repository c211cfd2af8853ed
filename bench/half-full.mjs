// Counters of one rule of which half of the limit is used.
import { hit } from './rules.mjs';
import { scriptTime } from './script-time.mjs';

const CHUNK = 1_000;

/** The number of keys so that each of them can allow its part of the decisions. */
export class HalfFull {
  #keys;
  #hits;

  /** @param described an entry of rules.mjs */
  constructor(limiter, described, { limit, rounds, decisions }) {
    const { ruleFor, entries, permitsHeld } = described;
    this.limiter = limiter;
    this.rule = ruleFor(limit);
    this.hasEntries = entries;
    this.permitsHeld = permitsHeld;
    this.#hits = Math.min(Math.floor(limit / 2 / rounds), decisions);
    this.#keys = Math.ceil(decisions / this.#hits);
  }

  /**
   * Uses half of the limit: with single hits if the state has an entry for each, otherwise with one hit of that cost.
   */
  async fill() {
    const half = Math.floor(this.rule.limit / 2);
    for (let key = 0; key < this.#keys; key++) {
      if (!this.hasEntries) await this.#ask(key, half);
      else for (let left = half; left > 0; left -= CHUNK) await this.#askOften(key, Math.min(left, CHUNK));
    }
  }

  /** Returns the server time of the script in microseconds for an allowed hit; the hits are sent in sequence. */
  async serverMicros(redis) {
    const { micros } = await scriptTime(redis, async () => {
      for (let time = 0; time < this.#hits; time++) {
        for (let key = 0; key < this.#keys; key++) await this.#ask(key, 1);
      }
    });
    return micros;
  }

  async #askOften(key, count) {
    await Promise.all(Array.from({ length: count }, () => this.#ask(key, 1)));
  }

  async #ask(key, cost) {
    const { limiter, rule } = this;
    const { allowed } = await hit(limiter, this, `${rule.limit}-${key}`, { cost });
    if (!allowed) throw new Error(`${rule.algorithm} with limit ${rule.limit} was full too early`);
  }
}
