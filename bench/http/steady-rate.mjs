// Requests at a fixed rate, evenly spaced, whether others have been answered or not.
import { setImmediate as turn } from 'node:timers/promises';
import { Connection } from './connection.mjs';
import { requestsOf } from './requests.mjs';

/**
 * The latencies in microseconds, each from when its request was due.
 *
 * @throws if an answer was not as this contestant's are meant to be
 */
export async function latenciesAt(rate, seconds, { port, contestant }) {
  const lanes = await Promise.all(requestsOf(contestant).map((requests) => openLane(port, requests)));
  const idle = [...lanes];
  const latencies = [];
  const unexpected = [];
  const startedAt = performance.now();
  for (let sent = 0; latencies.length < rate * seconds;) {
    const dueAt = startedAt + (sent * 1000) / rate;
    if (sent < rate * seconds && idle.length > 0 && performance.now() >= dueAt) {
      const lane = idle.shift();
      sent += 1;
      lane.ask((status) => {
        latencies.push((performance.now() - dueAt) * 1000);
        idle.push(lane);
        if (status !== contestant.status) unexpected.push(status);
      });
    }
    if (unexpected.length > 0) throw new Error(`${contestant.name}: ${unexpected[0]} at a steady rate`);
    await turn(); // A timer would be late by up to a millisecond.
  }
  for (const lane of lanes) lane.connection.close();
  return latencies;
}

async function openLane(port, requests) {
  const connection = await Connection.open(port);
  let next = 0;
  return { connection, ask: (answered) => connection.ask(requests[next++ % requests.length], answered) };
}
