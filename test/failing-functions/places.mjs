const RULE = { window: '1m', limit: 1000, algorithm: 'fixed-window' };
const works = () => 'a';

/** Each option that can be a function, with the rules of a route on which that function is `behave`. */
export const PLACES = {
  by: (behave) => [{ ...RULE, by: behave }],
  'by-of-two-rules': (behave) => [
    { ...RULE, by: behave },
    { ...RULE, name: 'second', by: behave },
  ],
  'by-first-of-a-list': (behave) => [{ ...RULE, by: [behave, works] }],
  'by-last-of-a-list': (behave) => [{ ...RULE, by: [works, behave] }],
  'by-twice-in-a-list': (behave) => [{ ...RULE, by: [() => behave(), () => behave()] }],
  'by-after-one-that-rejects': (behave) => [{ ...RULE, by: [async () => behaveBadly(), () => behave()] }],
  'by-before-one-that-throws': (behave) => [{ ...RULE, by: [() => behave(), () => behaveBadly()] }],
  limit: (behave) => [{ ...RULE, limit: behave }],
  window: (behave) => [{ ...RULE, window: behave }],
  cost: (behave) => [{ ...RULE, cost: behave }],
  'limit-window-and-cost': (behave) => [
    { ...RULE, limit: () => behave(), window: () => behave(), cost: () => behave(), by: () => behave() },
  ],
  skipIf: (behave) => [{ ...RULE, skipIf: behave }],
  plan: (behave) => [{ ...RULE, plans: { a: { limit: 5 } }, plan: behave }],
  count: (behave) => [{ ...RULE, count: behave }],
  'count-of-two-rules': (behave) => [
    { ...RULE, count: () => behave() },
    { ...RULE, name: 'second', count: () => behave() },
  ],
  body: () => [{ ...RULE, limit: 0 }],
  'body-without-subject': () => [{ ...RULE, by: () => undefined, onMissingSubject: 'deny' }],
  decision: () => [RULE],
  denied: () => [{ ...RULE, limit: 0 }],
  storeError: () => [RULE],
  breaker: () => [RULE],
  counter: () => [RULE],
  histogram: () => [RULE],
};

function behaveBadly() {
  throw new Error('badly');
}
