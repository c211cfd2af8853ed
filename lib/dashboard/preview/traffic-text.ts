import { isFields } from '../../contracts/fields.js';
import type { RecordedRequest, RecordedTraffic } from './recorded-traffic.js';
import { ResolvedValues } from './resolved-values.js';
import { isSampled } from './traffic-record.js';

/** A request in a text. The end is the time of the refund, -1 for a denied request, and 0 for a charged one. */
type Row = readonly [at: number, subject: number, route: number, cost: number, resolved: number, end: number];

/** Encodes the requests of one process for another one. */
export function trafficText({ depth, since, requests }: RecordedTraffic): string {
  const values = new ResolvedValues();
  const rows = requests.map(({ at, subject, route, cost, isDenied, refundedAt = 0, resolved }): Row => {
    return [at, subject, route, cost, values.numberOf(resolved)!, isDenied ? -1 : refundedAt];
  });
  return JSON.stringify({ depth, since, values: values.all.slice(1), rows });
}

/** Returns the requests in a text; `undefined` if it has another form. */
export function readTraffic(text: string): RecordedTraffic | undefined {
  try {
    const read: unknown = JSON.parse(text);
    if (!isFields(read) || !Array.isArray(read['rows']) || !Array.isArray(read['values'])) return undefined;
    const [rows, values] = [read['rows'] as Row[], read['values'] as RecordedRequest['resolved'][]];
    const requests = rows.map(([at, subject, route, cost, resolved, end]): RecordedRequest => {
      const request = { at, subject, route, cost, isDenied: end === -1 };
      const value = values[resolved - 1];
      return { ...request, ...(end > 0 && { refundedAt: end }), ...(value && { resolved: value }) };
    });
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
