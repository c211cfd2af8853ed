// Sends requests at a fixed rate, whether or not earlier ones have a response. The load generator sleeps in between,
// so that the application and Redis have the machine to themselves.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.mjs';
import { requestsOf } from './requests.mjs';

/**
 * Returns the latencies in microseconds.
 *
 * @throws if a response was not as expected for this contestant
 */
export async function latenciesAt(rate, seconds, { port, contestant }) {
  const lanes = await Promise.all(requestsOf(contestant).map((requests) => openLane(port, requests)));
  const idle = [...lanes];
  const latencies = [];
  const unexpected = [];
  const startedAt = performance.now();
  for (let sent = 0; latencies.length < rate * seconds; await sleep(1)) {
    const due = Math.min(rate * seconds, ((performance.now() - startedAt) * rate) / 1000);
    for (; sent < due && idle.length > 0; sent++) {
      const lane = idle.shift();
      const sentAt = performance.now();
      lane.ask((status) => {
        latencies.push((performance.now() - sentAt) * 1000);
        idle.push(lane);
        if (status !== contestant.status) unexpected.push(status);
      });
    }
    if (unexpected.length > 0) throw new Error(`${contestant.name}: ${unexpected[0]} at a steady rate`);
  }
  for (const lane of lanes) lane.connection.close();
  return latencies;
}

async function openLane(port, requests) {
  const connection = await Connection.open(port);
  let next = 0;
  return { connection, ask: (answered) => connection.ask(requests[next++ % requests.length], answered) };
}
