import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CHART_S, chartStart, RULE_CHART_S, type Snapshot, type SnapshotSecond } from '../snapshot.js';
import { clock, count, rate } from './figures.js';
import { bars, niceSteps } from './scale.js';

/** Pixels for the labels of the axes. */
const LEFT = 44;
const BOTTOM = 20;
const TOP = 8;
/** Least height for denied requests, in pixels: few of them stay visible beside many allowed ones. */
const LEAST_DENIED = 22;
/** Pixels from a label of the axis to the next. */
const LEAST_APART = 14;

/** The time that a chart shows, in words. */
export const LAST_MINUTES = {
  id: 'chart',
  text: 'the last two minutes',
  /** Milliseconds of a bar. */
  step: 1000,
  /** Number of bars. */
  length: CHART_S,
  /** Labels of the axis, evenly apart. */
  times: ['2 min ago', '90 s', '1 min', '30 s'],
  /** Formats the time of a bar. */
  format: clock,
};

type Span = typeof LAST_MINUTES;

export const LAST_HOUR: Span = {
  id: 'hour',
  text: 'the last hour',
  step: 60_000,
  length: 60,
  times: ['1 h ago', '45 min', '30 min', '15 min'],
  format: (at) => clock(at).slice(0, 5),
};

/** A mark in the chart, such as a change of a rule. */
export interface Mark {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly text: string;
}

type Item = SnapshotSecond & { readonly fallback?: number };

interface Chart {
  /** The rule; absent if the requests are those of all rules. */
  readonly rule?: string;
  readonly at: number;
  readonly span: Span;
  /** The bars in order. One that is missing is 0 with `gaps`, and otherwise a gap. */
  readonly items: readonly Item[];
  readonly gaps?: Snapshot['gaps'];
  /** Bars after that time are those of one process. */
  readonly allUntil: number | null;
  readonly marks: readonly Mark[];
  readonly onPoint: (reading: string) => void;
}

/** Draws allowed requests above the line and denied ones below it, on one scale. Times without figures are hatched. */
export function TrafficChart({ rule, at, span, items, gaps, allUntil, marks, onPoint }: Chart) {
  const svg = useRef<SVGSVGElement>(null);
  const [{ width, height }, setSize] = useState({ width: 0, height: 0 });
  const [pointer, setPointer] = useState<number>();
  useEffect(() => {
    const { current } = svg;
    const measure = () => setSize({ width: current!.clientWidth, height: current!.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(current!);
    return () => observer.disconnect();
  }, []);

  const { id, step, length } = span;
  const start = (Math.floor(at / step) + 1 - length) * step;
  const slot = Math.max(0, width - LEFT) / length;
  const index = pointer === undefined ? -1 : Math.floor((pointer - LEFT) / slot);
  const isPointed = index >= 0 && index < length;
  const missing = gaps ?? missingIn(items, start, span);
  const quiet = items.every(({ allowed, denied }) => allowed + denied === 0) && `No requests in ${span.text}`;
  const pointed = start + index * step;
  const reading = isPointed ? readingOf(items, missing, marks, { at: pointed, span }) : undefined;
  useEffect(() => {
    if (reading !== undefined || pointer === undefined) onPoint(reading ?? (quiet || ''));
  }, [reading, quiet]);

  const sum = (of: 'allowed' | 'denied') => count(items.reduce((total, each) => total + each[of], 0));
  const room = Math.max(0, height - TOP - BOTTOM);
  const area = (name: string, from: number, until: number) => {
    const [left, right] = [from, until].map(
      (time) => LEFT + (Math.min(Math.max(0, time - start), step * length) / step) * slot,
    ) as [number, number];
    return right > left && h('rect', { class: name, x: left, y: TOP, width: right - left, height: room });
  };
  const attributes = {
    id: rule === undefined ? id : undefined,
    class: `chart ${id}`,
    role: 'img',
    'aria-label': `${rule === undefined ? '' : `${rule}: `}Requests of ${span.text}: ${sum('allowed')} allowed, ${sum('denied')} denied.${missing.length > 0 ? ' Some figures are missing.' : ''}`,
    viewBox: `0 0 ${width} ${height}`,
    onPointerMove: ({ offsetX }: PointerEvent) => setPointer(offsetX),
    onPointerLeave: () => setPointer(undefined),
  } as const;
  return h('svg', { ref: svg, ...attributes }, [
    missing.map(([from, until]) => area('gap', from, until)),
    isPointed && area('cursor', pointed, pointed + step),
    trafficBars({ start, items, span, width, room, slot }),
    allUntil !== null && area('partial', allUntil, Infinity),
    marks.map((mark) => area('mark', mark.at, mark.at + (2 * step) / Math.max(slot, 1))),
  ]);
}

/** Returns the times of bars that are missing. */
function missingIn(items: readonly Item[], start: number, { step, length }: Span): Snapshot['gaps'] {
  const known = new Set(items.map((each) => each.at));
  const times = Array.from({ length }, (_, index) => start + index * step);
  return times.filter((time) => !known.has(time)).map((time) => [time, time + step] as const);
}

function readingOf(
  items: readonly Item[],
  gaps: Snapshot['gaps'],
  marks: readonly Mark[],
  { at, span: { step, format } }: { at: number; span: Span },
): string {
  const marked = marks.filter((mark) => mark.at >= at && mark.at < at + step).map(({ text }) => text);
  const item = items.find((each) => each.at === at);
  const isMissing = !item && gaps.some(([from, until]) => at >= from && at < until);
  const { allowed, denied, fallback = 0 } = item ?? { allowed: 0, denied: 0 };
  const counts = `${count(allowed)} allowed, ${count(denied)} denied${fallback > 0 ? `, ${count(fallback)} by the fallback` : ''}`;
  return [`${format(at)}: ${isMissing ? 'no figures' : counts}`, ...marked].join('; ');
}

type Area = Pick<Chart, 'items' | 'span'> & Readonly<Record<'start' | 'width' | 'room' | 'slot', number>>;

function trafficBars({ start, items, span, width, room, slot }: Area) {
  const { step, length, times } = span;
  const shown = items.filter(({ at }) => at >= start);
  const most = Math.max(1, ...shown.map(({ allowed }) => allowed));
  const mostDenied = Math.max(0, ...shown.map(({ denied }) => denied));
  const below = Math.max(LEAST_DENIED, (room * mostDenied) / (most + mostDenied));
  const scale = Math.min((room - below) / most, mostDenied > 0 ? below / mostDenied : Infinity);
  const line = TOP + room - below;
  const path = (of: 'allowed' | 'denied', y: number, sign: number) =>
    bars(shown, (each) => ({
      x: LEFT + ((each.at - start) / step) * slot,
      y,
      width: slot < 4 ? slot : slot - 1,
      height: sign * each[of] * scale,
    }));
  const steps = niceSteps((line - TOP) / scale);
  const levels = steps
    .slice(steps[0]! * scale < LEAST_APART ? -1 : 0)
    .map((value) => ({ y: line - value * scale, value }));
  const lowest = line + 1 + mostDenied * scale;
  if (mostDenied > 0 && lowest - line > 14) levels.push({ y: lowest, value: mostDenied });
  const axis = TOP + room + BOTTOM - 4;
  const label = (x: number, y: number, text: string, anchor = 'end') =>
    h('text', { x, y, 'text-anchor': anchor }, text);
  const grid = levels.map(({ y, value }) => [
    h('path', { d: `M${LEFT} ${Math.round(y) + 0.5}H${width}` }),
    label(LEFT - 8, y + 4, rate(value)),
  ]);
  const labels = times.map((text, nth) =>
    label(LEFT + (nth * length * slot) / times.length, axis, text, 'start'),
  );
  return [
    h('g', { class: 'grid' }, grid, labels, label(width, axis, 'now')),
    h('path', { class: 'allowed', d: path('allowed', line, -1) }),
    h('path', { class: 'denied', d: path('denied', line + 1, 1) }),
  ];
}

const HEIGHT = 24;
const SLOT = 2;
/** Requests per second that fill the height if no second has more: a single request is a low bar. */
const LEAST_SCALE = 4;

/** The last minute of a rule: denied requests stand on the allowed ones. Its figures are in the table beside it. */
export function Sparkline({ at, seconds }: Pick<Snapshot, 'at' | 'seconds'>) {
  const start = chartStart(at, RULE_CHART_S);
  const shown = seconds.filter((each) => each.at >= start);
  const most = Math.max(LEAST_SCALE, ...shown.map(({ allowed, denied }) => allowed + denied));
  const scale = (HEIGHT - 2) / most;
  const path = (of: 'allowed' | 'denied', below: (each: SnapshotSecond) => number) =>
    bars(shown, (each) => ({
      x: ((each.at - start) / 1000) * SLOT,
      y: HEIGHT - below(each) * scale,
      width: SLOT,
      height: -each[of] * scale,
    }));
  const viewBox = `0 0 ${RULE_CHART_S * SLOT} ${HEIGHT}`;
  return h('svg', { class: 'sparkline', 'aria-hidden': true, viewBox, preserveAspectRatio: 'none' }, [
    h('path', { class: 'allowed', d: path('allowed', () => 0) }),
    h('path', { class: 'denied', d: path('denied', ({ allowed }) => allowed) }),
  ]);
}
