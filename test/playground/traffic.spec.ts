import { describe, expect, it } from '@jest/globals';
import {
  arrivalsOf,
  COLUMNS,
  columnsOf,
  initialValues,
  MOST_ARRIVALS,
  TRAFFIC,
  type Traffic,
  type TrafficName,
} from '../../site/playground/traffic.js';

const kinds = Object.keys(TRAFFIC) as TrafficName[];
const drawn = Array.from({ length: COLUMNS }, (_, column) => column % 4);
const trafficOf = (kind: TrafficName, values = {}): Traffic => ({
  ...{ kind, drawn, values: { ...initialValues(kind), ...values } },
});

describe('the traffic of a playground', () => {
  it.each(kinds)('is sorted, within the time axis and in whole milliseconds: %s', (kind) => {
    for (const seconds of [5, 30, 120]) {
      const arrivals = arrivalsOf(trafficOf(kind), seconds, 1);
      expect(arrivals).toEqual(arrivals.toSorted((one, other) => one - other));
      expect(arrivals.every((at) => Number.isInteger(at) && at >= 0 && at < seconds * 1000)).toBe(true);
    }
    expect(arrivalsOf(trafficOf(kind), 30, 1).length).toBeGreaterThan(0);
  });

  it.each(kinds)('is the same for the same seed, and bounded: %s', (kind) => {
    const { parameters } = TRAFFIC[kind];
    const largest = Object.fromEntries(Object.entries(parameters).map(([name, { most }]) => [name, most]));
    const least = Object.fromEntries(Object.entries(parameters).map(([name, { least }]) => [name, least]));
    for (const values of [largest, least, { ...largest, every: least['every'] }]) {
      const arrivals = arrivalsOf(trafficOf(kind, values), 120, 7);
      expect(arrivals).toEqual(arrivalsOf(trafficOf(kind, values), 120, 7));
      expect(arrivals.length).toBeLessThanOrEqual(MOST_ARRIVALS);
    }
  });

  it('has other random requests with another seed, at the average rate', () => {
    const traffic = trafficOf('poisson', { rate: 5 });
    expect(arrivalsOf(traffic, 30, 1)).not.toEqual(arrivalsOf(traffic, 30, 2));
    const counts = Array.from({ length: 100 }, (_, seed) => arrivalsOf(traffic, 30, seed).length);
    expect(counts.reduce((sum, count) => sum + count, 0) / 100).toBeCloseTo(150, -1);
  });

  it('has the requests of its columns if it is drawn', () => {
    expect(columnsOf(arrivalsOf(trafficOf('drawn'), 30, 1), 30)).toEqual(drawn);
  });
});
