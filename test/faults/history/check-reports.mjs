// Checks that the log, the events and the health of each process report every fault consistently. It imports nothing
// from the library.
//
// It reads the reports of a process, in addition to the lines that check-history.mjs describes:
//
//   { kind: 'report', process, at, by: 'log', level, message }
//   { kind: 'report', process, at, by: 'event', event: 'breaker', state, server }
//   { kind: 'report', process, at, by: 'event', event: 'storeError', call, server, message }
//   { kind: 'report', process, at, by: 'health', askedAt, status, degraded, reason }    when it changes, and at the end
//   { kind: 'report', process, at, by: 'process', message }    an unhandled rejection

/** How long health stays degraded after a failed decision. */
const DEGRADED_FOR_MS = 10_000;

const RECOVERY = /^Redis decides again(?: for the keys of (\S+))?\.$/;
const OUTAGE = /^Redis could not decide \(.+; ?.*until it does/;
const ONCE = /this kind of error is logged once\.$/;
const FLAPS = /decides and fails in turn/;
/** Internal words of a client library, and numbers with too many digits. */
const UNREADABLE = /enableOfflineQueue|\d\.\d{3,}/;

/** The cause if there was never a connection. Here, Redis has decided before. */
const FOR_BEGINNERS = /does the server (expect|speak) TLS|Sentinels monitor/;

/** Returns every fault that a process has not reported, or not consistently, one sentence each. */
export function contradictionsIn(history) {
  const processes = new Set(history.flatMap(({ process }) => (process === undefined ? [] : [process])));
  return [...processes].flatMap((process) => {
    const own = history.filter((line) => line.process === process);
    const by = (reporter) => own.filter((line) => line.kind === 'report' && line.by === reporter);
    const seen = {
      fallback: own.filter(({ kind, source }) => kind === 'request' && source === 'fallback').length,
      log: by('log'),
      events: by('event'),
      health: by('health'),
      reports: own.filter(({ kind }) => kind === 'report'),
    };
    return [
      ...by('process').map(({ message }) => message),
      ...unreported(seen),
      ...turnsNotLogged(seen),
      ...loggedTwice(seen),
      ...unlikeLast(seen),
    ].map((problem) => `process ${process}: ${problem}`);
  });
}

/** A fault for which the fallback decided is in the log, events and health; any other is in none of them. */
function unreported({ fallback, log, events, health }) {
  const reporters = {
    log: log.some(({ level }) => level !== 'log'),
    event: events.length > 0,
    health: health.some(({ degraded, reason }) => degraded && reason),
  };
  const isFault = fallback > 0 || events.some(({ event }) => event === 'storeError');
  return Object.entries(reporters).flatMap(([reporter, hasReported]) => {
    if (fallback > 0 && !hasReported)
      return [`${fallback} decisions of the fallback, none reported by ${reporter}`];
    if (!isFault && hasReported) return [`no request failed, but ${reporter} reported a fault`];
    return [];
  });
}

/** Each change of a breaker is one line of the log, unless it is flapping. */
function turnsNotLogged({ log, events }) {
  const problems = [];
  const turns = events.filter(({ event }) => event === 'breaker');
  for (const server of new Set(turns.map((turn) => turn.server))) {
    const states = turns.filter((turn) => turn.server === server).map(({ state }) => state);
    const isInTurn = states.every((state, nth) => state === (nth % 2 === 0 ? 'open' : 'closed'));
    if (!isInTurn) problems.push(`the breaker of ${server} was ${states.join(', ')}`);
    const recoveries = log.filter(
      ({ message }) => (RECOVERY.exec(message)?.[1] ?? '') === server && RECOVERY.test(message),
    );
    const closed = states.filter((state) => state === 'closed').length;
    if (recoveries.length > closed || (recoveries.length < closed && !log.some(isOfFlapping)))
      problems.push(`${closed} times closed, but ${recoveries.length} times logged to decide again`);
  }
  const opened = turns.filter(({ state }) => state === 'open').length;
  const outages = log.filter(({ message }) => OUTAGE.test(message));
  if (outages.length < opened && !log.some(isOfFlapping))
    problems.push(`${opened} times open, but ${outages.length} times logged`);
  if (outages.length > 0 && opened === 0) problems.push('logged not to decide, but no breaker was open');
  return problems;
}

function isOfFlapping({ message }) {
  return FLAPS.test(message);
}

/** Each kind of error is logged once, and each cause once per outage, in plain words. */
function loggedTwice({ log }) {
  const problems = [];
  const once = new Set();
  let outage = new Set();
  for (const { message, level } of log) {
    if (UNREADABLE.test(message)) problems.push(`logged: ${message}`);
    if (FOR_BEGINNERS.test(message)) problems.push(`logged of a server that has decided: ${message}`);
    const kind = message.replaceAll(/\d+/g, 'n');
    if (RECOVERY.test(message)) outage = new Set();
    if (ONCE.test(message) && once.has(kind)) problems.push(`logged twice: ${message}`);
    if (OUTAGE.test(message) && outage.has(message)) problems.push(`logged twice in an outage: ${message}`);
    if ((ONCE.test(message) || OUTAGE.test(message)) && level === 'log')
      problems.push(`not a warning: ${message}`);
    if (ONCE.test(message)) once.add(kind);
    if (OUTAGE.test(message)) outage.add(message);
  }
  return problems;
}

/**
 * At the end, health is degraded only while the breaker of a server is open, or for a while after a decision failed
 * since it closed.
 */
function unlikeLast({ reports, log }) {
  const last = reports.findLastIndex(({ by }) => by === 'health');
  if (last < 0) return ['health was not asked'];
  const { status, degraded, askedAt, at } = reports[last];
  const events = reports.slice(0, last).filter(({ by }) => by === 'event');
  const turns = events.filter(({ event }) => event === 'breaker');
  if (turns.at(-1)?.at > askedAt) return []; // The breaker changed while health was requested.
  const lastTurns = new Map(turns.map((turn) => [turn.server, turn]));
  const isOpen = [...lastTurns.values()].some(({ state }) => state === 'open');
  const failures = events.filter(
    ({ call, server, at: failedAt }) => call === 'decision' && !(lastTurns.get(server)?.at >= failedAt),
  );
  const hasFailedAfter = (instant) => isOpen || failures.some((failure) => failure.at > instant);
  const problems = status === 'up' ? [] : [`health was ${status}`];
  if (hasFailedAfter(at - DEGRADED_FOR_MS) && !degraded) problems.push('health was not degraded');
  if (!hasFailedAfter(askedAt - DEGRADED_FOR_MS) && degraded && !log.some(isOfFlapping))
    problems.push('health was degraded though no decision had failed');
  return problems;
}
