/** No window ends while a fault is on. */
const quota = { limit: 5, window: '1d' };

/** Rules that requests are counted by; each of the first four gets a fresh subject every 12 requests. */
export const RULES = [
  { ...quota, name: 'log', algorithm: 'sliding-window-log' },
  { ...quota, name: 'gcra', algorithm: 'gcra' },
  { ...quota, name: 'fixed', algorithm: 'fixed-window' },
  { ...quota, name: 'bucket', algorithm: 'token-bucket' },
  { name: 'second', algorithm: 'sliding-window-log', limit: 20, window: '1s' },
];

export const JOBS = { name: 'jobs', algorithm: 'concurrency', limit: 2, lease: '60s' };

const REQUESTS_A_SUBJECT = 12;

/** The subject of the nth request of a process: the same for the nth request of every process. */
export function subjectOf({ name }, turn) {
  if (name === 'second') return 'all';
  return `guest-${Math.floor(turn / RULES.length / REQUESTS_A_SUBJECT)}`;
}

/** The rules as lines of a history. */
export function ruleLines() {
  return [
    ...RULES.map(({ name, limit, window }) => ({
      kind: 'rule',
      rule: name,
      type: 'any-window',
      limit,
      windowMs: window === '1s' ? 1000 : 86_400_000,
    })),
    { kind: 'rule', rule: JOBS.name, type: 'held', limit: JOBS.limit },
  ];
}
