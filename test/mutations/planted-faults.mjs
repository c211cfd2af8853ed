// Faults that `npm run mutations` plants one by one, each in words, as the text to replace, and with the specs that find it
// first. When code moves, the words stay and the texts follow: the number of faults that are found must not fall.
const ADMISSION = 'lib/nest/request/admission.ts';
const GUARD = 'lib/nest/rate-limit.guard.ts';
const CONDITIONS = 'lib/nest/request/conditions.ts';
const ROUTE_LIMIT = 'lib/nest/request/route-limit.ts';
const ROUTE_RULES = 'lib/nest/startup/route-rules.ts';
const DECLARED_RULES = 'lib/nest/rules/declared-rules.ts';
const REQUEST_CHECKS = 'lib/dashboard/http/request-checks.ts';
const MEMORY = 'lib/stores/memory/memory.store.ts';

/**
 * @typedef {object} PlantedFault
 * @property {string} words what is wrong, as a user would say it
 * @property {string} file the file with the fault
 * @property {string} text the text to replace, which is once in the file
 * @property {string} by the faulty text
 * @property {readonly string[]} specs the specs that find it
 */

/** @type {Record<string, readonly PlantedFault[]>} */
const FAULTS_BY_PART = {
  guard: [
    {
      words: 'the guard never denies',
      file: ADMISSION,
      text: '    if (!decision.allowed) return deny(exchange.context, decision);\n',
      by: '',
      specs: ['test/e2e/guard.spec.ts'],
    },
    {
      words: 'the headers are left out',
      file: ADMISSION,
      text: '    this.responder.respond(exchange, decision);\n',
      by: '',
      specs: ['test/e2e/headers.spec.ts'],
    },
    {
      words: 'a request that does not count stays charged',
      file: ADMISSION,
      text: 'if (!(await this.isCharged(limit, end, exchange))) rules.push(limit.name, `${limit.name}?`);',
      by: 'await this.isCharged(limit, end, exchange);',
      specs: ['test/e2e/count.spec.ts'],
    },
    {
      words: 'permits of concurrency are never released',
      file: 'lib/transports/settlements.ts',
      text: ', permit?.release()]);',
      by: ']);',
      specs: ['test/e2e/concurrency.spec.ts'],
    },
    {
      words: 'a delayed request does not wait',
      file: ADMISSION,
      text: 'return decision.delayMs === 0 ? true : this.delay(exchange, decision);',
      by: 'return true;',
      specs: ['test/e2e/leaky-bucket.spec.ts'],
    },
    {
      words: 'a client evades the limit by disconnecting',
      file: ADMISSION,
      text: "if (end === 'cut-off' || count === 'all') return true;",
      by: "if (end === 'cut-off') return false;",
      specs: ['test/e2e/count.spec.ts'],
    },
    {
      words: 'a request that passes the guard twice is counted twice',
      file: GUARD,
      text: '    if (context[COUNTED]) return this.passAgain(context[COUNTED], hooks);\n',
      by: '',
      specs: ['test/e2e/guard.spec.ts', 'test/e2e/guard-hooks.spec.ts'],
    },
    {
      words: 'shouldSkip of a subclass has no effect',
      file: GUARD,
      text: '    if (isSkipped === true) {\n',
      by: '    if (false) {\n',
      specs: ['test/e2e/guard-hooks.spec.ts'],
    },
    {
      words: 'an override of deny that returns lets the request pass',
      file: GUARD,
      text: '    await this.deny(context, decision, detail);\n    return this.responder.deny(context, decision, detail);',
      by: '    await this.deny(context, decision, detail);\n    return undefined as never;',
      specs: ['test/e2e/guard-hooks.spec.ts'],
    },
    {
      words: 'skipIf has no effect',
      file: CONDITIONS,
      text: '    return isSkipped === true;\n',
      by: '    return false;\n',
      specs: ['test/e2e/conditions.spec.ts'],
    },
    {
      words: 'allowList has no effect',
      file: CONDITIONS,
      text: 'limit.isAllowed?.(exchange.request) || (await',
      by: '(await',
      specs: ['test/e2e/conditions.spec.ts'],
    },
    {
      words: "onMissingSubject: 'deny' counts by IP",
      file: ROUTE_LIMIT,
      text: "    if (onMissingSubject === 'deny') return this.uncounted('no-subject');\n",
      by: '',
      specs: ['test/e2e/subjects.spec.ts'],
    },
  ],
  startup: [
    {
      words: 'wrong rules do not stop the application',
      file: ROUTE_RULES,
      text: '    this.declared.throwIfWrong();\n',
      by: '',
      specs: ['test/e2e/wrong-rules.spec.ts'],
    },
    {
      words: 'the module may be imported with options twice',
      file: ROUTE_RULES,
      text: 'if (modules.length > 1) {',
      by: 'if (modules.length > 9) {',
      specs: ['test/e2e/wrong-options.spec.ts'],
    },
    {
      words: '@SkipRateLimit accepts a name that no rule has',
      file: DECLARED_RULES,
      text: 'if (!this.names.has(name)) this.problems',
      by: "if (name === '') this.problems",
      specs: ['test/e2e/skip.spec.ts', 'test/e2e/wrong-rules.spec.ts'],
    },
    {
      words: 'overrides are ignored',
      file: DECLARED_RULES,
      text: 'applied.map(({ fields }) => this.override(fields))',
      by: 'applied.map(({ fields }) => fields)',
      specs: ['test/e2e/overrides.spec.ts'],
    },
    {
      words: 'a complete limit inherits the algorithm of the outer rule',
      file: DECLARED_RULES,
      text: 'COMPLETE in layer ? withoutLimit(known) : known',
      by: 'known',
      specs: ['test/e2e/positional.spec.ts'],
    },
    {
      words: 'a rule of a method that is no handler is accepted',
      file: 'lib/nest/startup/start-check.ts',
      text: "else if (kind === 'none') {",
      by: "else if (kind === 'none' && path === '') {",
      specs: ['test/e2e/unenforced.spec.ts', 'test/e2e/unreached-methods.spec.ts'],
    },
    {
      words: 'routes with scope route share a counter',
      file: 'lib/rules/keys.ts',
      text: 'const route = owner === undefined ? name : `${name}@${escape(owner)}`;',
      by: 'const route = name;',
      specs: ['test/e2e/scope.spec.ts'],
    },
  ],
  live: [
    {
      words: 'a live change with an end never ends',
      file: 'lib/live/live-state.ts',
      text: 'if (until < Infinity) this.expiry =',
      by: 'if (until < 0) this.expiry =',
      specs: ['test/live/live-rules.spec.ts'],
    },
    {
      words: 'a change of the source that does not fit its rule is taken over',
      file: 'lib/live/live-state.ts',
      text: '        rejected.add(entry);',
      by: '',
      specs: ['test/live/sources.spec.ts', 'test/live/file-source.spec.ts'],
    },
    {
      words: 'two operators overwrite the change of one another',
      file: 'lib/live/memory.rule-source.ts',
      text: 'change.version !== undefined && change.version !== current',
      by: 'change.version === -1',
      specs: ['test/live/live-rules.spec.ts'],
    },
    {
      words: 'a change in another process is not noticed',
      file: 'lib/live/live-follower.ts',
      text: 'else void this.read();',
      by: '',
      specs: ['test/live/sources.spec.ts', 'test/live/file-source.spec.ts'],
    },
    {
      words: 'a live change sets fields that belong to the code',
      file: 'lib/nest/rules/live-layer.ts',
      text: '  ]);\n  const algorithm',
      by: '  ].slice(0, 0));\n  const algorithm',
      specs: ['test/live/bad-input.spec.ts'],
    },
    {
      words: 'the exception of a subject has no effect',
      file: ROUTE_LIMIT,
      text: 'const excepted = rule.exceptions && rule.exceptionOf(subject, plan);',
      by: "const excepted = undefined as KeyedRule | 'allow' | undefined;",
      specs: ['test/live/live-rules.spec.ts', 'test/live/bad-input.spec.ts'],
    },
  ],
  page: [
    {
      words: 'a form of another site changes a limit',
      file: REQUEST_CHECKS,
      text: "if (request.headers[DASHBOARD_HEADER] !== '1' || site === 'none') {",
      by: "if (site === 'none') {",
      specs: ['test/dashboard/security.spec.ts'],
    },
    {
      words: 'the page without guards answers to any host name',
      file: REQUEST_CHECKS,
      text: "if (name === 'localhost' ||",
      by: "if (name !== '' ||",
      specs: ['test/dashboard/security.spec.ts'],
    },
    {
      words: 'the page without guards answers to other machines',
      file: REQUEST_CHECKS,
      text: '  if (isLocal) return;\n',
      by: '  if (isLocal || !isLocal) return;\n',
      specs: ['test/dashboard/security.spec.ts'],
    },
    {
      words: 'a page of another origin reads the figures',
      file: REQUEST_CHECKS,
      text: 'if (isForeign || (origin !== undefined && !isOwn(origin, request))) {',
      by: 'if (isForeign) {',
      specs: ['test/dashboard/security.spec.ts'],
    },
    {
      words: 'the page shows subjects in full',
      file: 'lib/dashboard/collect/masked.ts',
      text: '  if (length < 4) return HIDDEN;\n',
      by: "  if (length > 0) return characters.join('');\n",
      specs: ['test/dashboard/subjects.spec.ts', 'test/dashboard/security.spec.ts'],
    },
    {
      words: 'the page counts denied requests as allowed',
      file: 'lib/dashboard/collect/collector.ts',
      text: '(decision.allowed ? this.allowed : this.denied).add(second);',
      by: 'this.allowed.add(second);',
      specs: ['test/dashboard/collector.spec.ts'],
    },
  ],
  stores: [
    {
      words: 'a denied request charges the rules that allow it',
      file: MEMORY,
      text: 'checked.allowed && (areDenied || (dryRun && !peek));',
      by: 'checked.allowed && dryRun && !peek;',
      specs: ['test/contract/memory.spec.ts'],
    },
    {
      words: 'a refund is forgotten',
      file: MEMORY,
      text: '      if (next) this.keep(adjustment, next, now);\n',
      by: '',
      specs: ['test/contract/memory.spec.ts'],
    },
    {
      words: 'a reset leaves the counter',
      file: MEMORY,
      text: 'const expiresAt = this.entries.delete(key);',
      by: 'const expiresAt = undefined as number | undefined;',
      specs: ['test/contract/memory.spec.ts'],
    },
    {
      words: 'a block denies nothing',
      file: MEMORY,
      text: '    if (left > 0) {\n',
      by: '    if (left < 0) {\n',
      specs: ['test/contract/memory.spec.ts', 'test/e2e/block.spec.ts'],
    },
    {
      words: "onStoreError: 'deny' allows while Redis cannot decide",
      file: 'lib/layers/fallback/fallback.ts',
      text: "const result = fallback === 'deny' ? DENIED : ALLOWED;",
      by: 'const result = ALLOWED;',
      specs: ['test/e2e/outage.spec.ts'],
    },
    {
      words: 'each process allows the whole limit while Redis cannot decide',
      file: 'lib/layers/fallback/local-limits.ts',
      text: 'rule.among(rule.perInstance ? 1 : instances)',
      by: 'rule.among(1)',
      specs: ['lib/layers/fallback/local-limits.spec.ts'],
    },
    {
      words: 'prefetched permits are lost when the process closes',
      file: 'lib/layers/prefetch/prefetch.ts',
      text: '    this.refund([...this.entries.sweep(() => true), ...this.evicted.splice(0)]);\n',
      by: '',
      specs: ['test/prefetch/lifetime.spec.ts', 'test/prefetch/prefetch.spec.ts'],
    },
    {
      words: 'the breaker stops no call',
      file: 'lib/stores/redis/breaker/circuit-breaker.ts',
      text: '    if (circuit.cause !== undefined) throw circuit.cause as Error;\n',
      by: '',
      specs: ['test/e2e/outage.spec.ts', 'test/fallback/outage.spec.ts'],
    },
    {
      words: 'permits of a call whose reply is late stay held',
      file: 'lib/stores/redis/wire/lost-calls.ts',
      text: '  if (!reply || !requests.some(holds)) return;\n',
      by: '  if (reply || requests) return;\n',
      specs: ['test/wire/lost-charges.spec.ts', 'test/wire/lost-takes.spec.ts'],
    },
  ],
  limiter: [
    {
      words: 'a decision reports the mildest rule',
      file: 'lib/limiter/decision.ts',
      text: 'if (compareStrictness(decisions[index]!, strictest) < 0)',
      by: 'if (compareStrictness(decisions[index]!, strictest) > 0)',
      specs: ['lib/limiter/decision.spec.ts'],
    },
    {
      words: 'decisions are not emitted',
      file: 'lib/limiter/engine.ts',
      text: '    this.events.decided(hits, { decision, durationMs: performance.now() - since, context });\n',
      by: '',
      specs: ['lib/limiter/events.spec.ts', 'test/e2e/events.spec.ts'],
    },
    {
      words: 'a request that waits is not told its turn',
      file: 'lib/limiter/waiting-room.ts',
      text: '    request.isChecked = false;\n    request.wake();\n  }\n',
      by: '    request.isChecked = false;\n  }\n',
      specs: ['lib/limiter/waiting-room.spec.ts', 'test/concurrency/queue.spec.ts'],
    },
  ],
};

/** @type {readonly (PlantedFault & { readonly part: string })[]} */
export const PLANTED_FAULTS = Object.entries(FAULTS_BY_PART).flatMap(([part, faults]) =>
  faults.map((fault) => ({ part, ...fault })),
);
