import { isFields } from '../../../contracts/fields.js';
import { isSampled, type RecordedTraffic } from './traffic-record.js';

/** Encodes the requests of one process for another one. */
export function trafficText({ depth, since, requests }: RecordedTraffic): string {
  const rows = requests.map(({ at, subject, route, cost }) => [at, subject, route, cost]);
  return JSON.stringify({ depth, since, rows });
}

/** Returns the requests in a text; `undefined` if it has another form. */
export function readTraffic(text: string): RecordedTraffic | undefined {
  try {
    const read: unknown = JSON.parse(text);
    if (!isFields(read) || !Array.isArray(read['rows'])) return undefined;
    const rows = read['rows'] as readonly (readonly [number, number, number, number])[];
    const requests = rows.map(([at, subject, route, cost]) => ({ at, subject, route, cost }));
    return { depth: Number(read['depth']), since: Number(read['since']), requests };
  } catch {
    return undefined;
  }
}

/** Merges the requests of several processes: those of the subjects and the time that all of them have. */
export function mergeTraffic(records: readonly RecordedTraffic[]): RecordedTraffic {
  const depth = Math.max(0, ...records.map((record) => record.depth));
  const since = Math.max(0, ...records.map((record) => record.since));
  const requests = records
    .flatMap((record) => record.requests)
    .filter(({ at, subject }) => at >= since && isSampled(subject, depth))
    .sort((one, other) => one.at - other.at);
  return { depth, since, requests };
}
