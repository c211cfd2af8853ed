import type { RouteLimits } from './limits.js';
import { UNKNOWN } from './throttlers.js';

/** Returns a table of the routes, and whether each has the same limits as before, all of them known. */
export function tableOf(
  before: RouteLimits,
  after: RouteLimits,
): { readonly lines: string[]; readonly isSame: boolean } {
  const labels = [...before.keys()].map((key) => key.split(' ')[0]!);
  const rows = [...before].map(([key, limits], index) => {
    const isAlone = labels.indexOf(labels[index]!) === labels.lastIndexOf(labels[index]!);
    return [isAlone ? labels[index]! : key, limits, after.get(key) ?? UNKNOWN] as const;
  });
  const isRight = (one: string, other: string): boolean => one === other && !one.includes(UNKNOWN);
  const [first, second] = [0, 1].map((column) => Math.max(6, ...rows.map((row) => row[column]!.length)));
  const line = (route: string, one: string, other: string, note = ''): string =>
    `  ${route.padEnd(first!)}  ${one.padEnd(second!)}  ${other}${note}`;
  return {
    lines: [
      line('route', 'before', 'after'),
      ...rows.map(([route, one, other]) =>
        line(route, one, other, isRight(one, other) ? '' : one === other ? '   ! not known' : '   ! differs'),
      ),
    ],
    isSame: rows.every(([, one, other]) => isRight(one, other)),
  };
}
