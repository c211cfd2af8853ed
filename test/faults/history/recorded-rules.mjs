/** No window ends during a fault. */
const quota = { limit: 5, window: '1d' };
/** Their requests have a cost of 1 to 3, and some are refunded. */
const COSTLY = ['log', 'gcra', 'fixed', 'bucket'];

/** The rules of the requests. Those with a window of a day get a fresh subject every 12 requests. */
export const RULES = [
  { ...quota, name: 'log', algorithm: 'sliding-window-log' },
  { ...quota, name: 'gcra', algorithm: 'gcra' },
  { ...quota, name: 'fixed', algorithm: 'fixed-window' },
  { ...quota, name: 'bucket', algorithm: 'token-bucket' },
  { ...quota, name: 'strict', algorithm: 'fixed-window', onStoreError: 'deny' },
  { ...quota, name: 'open', algorithm: 'fixed-window', onStoreError: 'allow' },
  { ...quota, name: 'ahead', algorithm: 'gcra', limit: 12, prefetch: { permits: 3, ttl: '250ms' } },
  { ...quota, name: 'metered', algorithm: 'fixed-window', limit: 12 },
  { ...quota, name: 'metered-log', algorithm: 'sliding-window-log', limit: 12 },
  [
    { ...quota, name: 'left', algorithm: 'token-bucket' },
    { ...quota, name: 'right', algorithm: 'sliding-window-log' },
  ],
  { name: 'short', algorithm: 'sliding-window-log', limit: 8, window: '500ms' },
  { name: 'blocking', algorithm: 'sliding-window-log', limit: 5, window: '100ms', block: '300ms' },
];

/** Rules for which requests wait in `acquire`. */
export const LINED = [
  { name: 'lined', algorithm: 'sliding-window-log', limit: 5, window: '300ms' },
  { name: 'lined-fixed', algorithm: 'fixed-window', limit: 5, window: '300ms' },
  { name: 'lined-gcra', algorithm: 'gcra', limit: 5, window: '300ms', burst: 1 },
];
/** How long they and the holds of `QUEUED` wait. */
export const WAIT_MS = 200;

export const JOBS = { name: 'jobs', algorithm: 'concurrency', limit: 2, lease: '60s' };
/** A rule whose permits requests wait for. */
export const QUEUED = { ...JOBS, name: 'queued' };
/** The subject that takes and releases them. */
export const POOL = 'pool';
/** The subjects of rules without a window of a day. */
export const EVERYBODY = 'all';

/** The rules that must both allow and deny, by each source that decides during a fault. */
export const EXAMINED = ['log', 'gcra', 'fixed', 'bucket', 'metered', 'metered-log', 'left', 'right', 'jobs'];

/** The name of a kind of outcome. */
export const outcomeOf = (rule, source, isAllowed) => `${rule} ${source} ${isAllowed}`;

const REQUESTS_A_SUBJECT = 12;
const COSTS = [1, 1, 2, 1, 3, 1];
/** The costs that are known after a reservation of 2. Each visit of a subject begins with the next two. */
export const ACTUAL_COSTS = [0, 7, 1, 3, 2, 2];
const REFUND_EVERY = 5;

/** The number of requests of the same rule before the nth request of a process. */
const roundOf = (turn) => Math.floor(turn / RULES.length);

/**
 * The nth request of a process, the same in every process: its rules, and the cost that replaces a reservation. The
 * requests of two rules follow some of one of them, so that either denies while the other has permits.
 */
export function requestOf(turn) {
  const one = RULES[turn % RULES.length];
  const round = roundOf(turn);
  const visit = Math.floor(round / REQUESTS_A_SUBJECT);
  const rules = !Array.isArray(one) ? [one] : round % REQUESTS_A_SUBJECT < 2 ? [one[visit % 2]] : one;
  const [{ name, window }] = rules;
  const isCostly = COSTLY.includes(name);
  const isMetered = name.startsWith('metered');
  return {
    rules,
    subject: window === '1d' ? guest(visit) : EVERYBODY,
    cost: isCostly ? COSTS[round % COSTS.length] : isMetered ? 2 : 1,
    actual: isMetered ? ACTUAL_COSTS[(round + 2 * visit) % ACTUAL_COSTS.length] : undefined,
    isRefunded: (isCostly || rules.length > 1) && round % REFUND_EVERY === 0,
  };
}

/** The nth subject of a rule with a window of a day. */
export function guest(nth) {
  return `guest-${nth}`;
}

const MILLISECONDS = {
  '100ms': 100,
  '250ms': 250,
  '300ms': 300,
  '500ms': 500,
  '60s': 60_000,
  '1d': 86_400_000,
};

/** The rules as lines of a history. */
export function ruleLines() {
  return [
    ...RULES.flat().map(({ name, limit, window, block, prefetch, onStoreError }) => ({
      kind: 'rule',
      rule: name,
      limit,
      windowMs: MILLISECONDS[window],
      blockMs: MILLISECONDS[block],
      prefetch: prefetch && { permits: prefetch.permits, ttlMs: MILLISECONDS[prefetch.ttl] },
      fallback: onStoreError,
    })),
    ...LINED.map(({ name, limit, window, algorithm, burst }) => ({
      kind: 'rule',
      rule: name,
      limit,
      windowMs: MILLISECONDS[window],
      burst,
      windows: algorithm === 'fixed-window' ? 2 : undefined,
      waits: true,
    })),
    ...[JOBS, QUEUED].map((rule) => ({
      kind: 'rule',
      rule: rule.name,
      limit: rule.limit,
      leaseMs: MILLISECONDS[rule.lease],
      waits: rule === QUEUED,
    })),
  ];
}
