// Counters of one rule of which half the limit is used, to be measured in the middle of their lives.
const CHUNK = 1_000;

/** As many keys as it takes for every one to have room for its part of the decisions. */
export class HalfFull {
  #keys;
  #hits;

  /** @param described an entry of rules.mjs */
  constructor(limiter, described, { limit, rounds, decisions }) {
    const { rule, entries, permitsHeld } = described;
    this.limiter = limiter;
    this.rule = { ...rule, limit, ...(rule.burst !== undefined && { burst: limit - 1 }) };
    this.hasEntries = entries;
    this.permitsHeld = permitsHeld;
    this.#hits = Math.min(Math.floor(limit / 2 / rounds), decisions);
    this.#keys = Math.ceil(decisions / this.#hits);
  }

  /** Uses half of the limit: by so many hits where each is remembered, else by one that costs as much. */
  async fill() {
    const half = Math.floor(this.rule.limit / 2);
    for (let key = 0; key < this.#keys; key++) {
      if (!this.hasEntries) await this.#ask(key, half);
      else for (let left = half; left > 0; left -= CHUNK) await this.#askOften(key, Math.min(left, CHUNK));
    }
  }

  /** Microseconds of the server in the script for a hit that is let in, one after the other. */
  async serverMicros(redis) {
    await redis.config('RESETSTAT');
    for (let hit = 0; hit < this.#hits; hit++) {
      for (let key = 0; key < this.#keys; key++) await this.#ask(key, 1);
    }
    const [, calls, usec] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(await redis.info('commandstats'));
    return Number(usec) / Number(calls);
  }

  async #askOften(key, count) {
    await Promise.all(Array.from({ length: count }, () => this.#ask(key, 1)));
  }

  async #ask(key, cost) {
    const subject = `${this.rule.limit}-${key}`;
    const { limiter, rule } = this;
    const answer = this.permitsHeld
      ? await limiter.enter(rule, subject, { cost })
      : await limiter.consume(rule, subject, { cost });
    if (!answer.allowed) throw new Error(`${rule.algorithm} with limit ${rule.limit} was full too early`);
  }
}
