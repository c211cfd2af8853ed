import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CHART_S, chartStart, RULE_CHART_S, type Snapshot, type SnapshotSecond } from '../snapshot.js';
import { clock, count, rate } from './figures.js';
import { bars, niceSteps } from './scale.js';

type Seconds = Pick<Snapshot, 'at' | 'seconds'>;

/** Pixels for the labels of the axes. */
const LEFT = 44;
const BOTTOM = 20;
const TOP = 8;
/** Least height for denied requests, in pixels: few of them stay visible beside many allowed ones. */
const LEAST_DENIED = 22;

/** Shown instead of the figures of a second. */
const QUIET = 'No requests in the last two minutes';

const TIMES = ['2 min ago', '90 s', '1 min', '30 s'];

/** Draws allowed requests above the line and denied ones below it, per second, on one scale. */
export function TrafficChart({ at, seconds, onPoint }: Seconds & { onPoint: (reading: string) => void }) {
  const svg = useRef<SVGSVGElement>(null);
  const [{ width, height }, setSize] = useState({ width: 0, height: 0 });
  const [pointer, setPointer] = useState<number>();
  useEffect(() => {
    const { current } = svg;
    const observer = new ResizeObserver(() =>
      setSize({ width: current!.clientWidth, height: current!.clientHeight }),
    );
    observer.observe(current!);
    return () => observer.disconnect();
  }, []);

  const start = chartStart(at, CHART_S);
  const slot = Math.max(0, width - LEFT) / CHART_S;
  const index = pointer === undefined ? -1 : Math.floor((pointer - LEFT) / slot);
  const isPointed = index >= 0 && index < CHART_S;
  const pointed = isPointed ? secondAt(seconds, start + index * 1000) : undefined;
  const quiet = seconds.length === 0 ? QUIET : '';
  const reading = pointed
    ? `${clock(pointed.at)}: ${count(pointed.allowed)} allowed, ${count(pointed.denied)} denied`
    : quiet;
  useEffect(() => onPoint(reading), [reading]);

  const sum = (of: 'allowed' | 'denied') => count(seconds.reduce((total, each) => total + each[of], 0));
  const room = Math.max(0, height - TOP - BOTTOM);
  const cursor = { class: 'cursor', x: LEFT + index * slot, y: TOP, width: slot, height: room };
  return h(
    'svg',
    {
      id: 'chart',
      ref: svg,
      role: 'img',
      'aria-label': `Requests of the last two minutes: ${sum('allowed')} allowed, ${sum('denied')} denied.`,
      viewBox: `0 0 ${width} ${height}`,
      onPointerMove: ({ offsetX }: PointerEvent) => setPointer(offsetX),
      onPointerLeave: () => setPointer(undefined),
    },
    isPointed && h('rect', cursor),
    trafficBars({ start, seconds, width, room, slot }),
  );
}

interface Area {
  readonly start: number;
  readonly seconds: readonly SnapshotSecond[];
  readonly width: number;
  readonly room: number;
  readonly slot: number;
}

function trafficBars({ start, seconds, width, room, slot }: Area) {
  const shown = seconds.filter(({ at }) => at >= start);
  const most = Math.max(1, ...shown.map(({ allowed }) => allowed));
  const mostDenied = Math.max(0, ...shown.map(({ denied }) => denied));
  const below = Math.max(LEAST_DENIED, (room * mostDenied) / (most + mostDenied));
  const scale = Math.min((room - below) / most, mostDenied > 0 ? below / mostDenied : Infinity);
  const line = TOP + room - below;
  const path = (of: 'allowed' | 'denied', y: number, sign: number) =>
    bars(shown, (each) => ({
      x: LEFT + indexOf(each, start) * slot,
      y,
      width: slot < 4 ? slot : slot - 1,
      height: sign * each[of] * scale,
    }));
  const levels = niceSteps((line - TOP) / scale).map((value) => ({ y: line - value * scale, value }));
  const lowest = line + 1 + mostDenied * scale;
  if (mostDenied > 0 && lowest - line > 14) levels.push({ y: lowest, value: mostDenied });
  const axis = TOP + room + BOTTOM - 4;
  const label = (x: number, y: number, text: string, anchor = 'end') =>
    h('text', { x, y, 'text-anchor': anchor }, text);
  const grid = levels.map(({ y, value }) => [
    h('path', { d: `M${LEFT} ${Math.round(y) + 0.5}H${width}` }),
    label(LEFT - 8, y + 4, rate(value)),
  ]);
  const times = TIMES.map((text, nth) =>
    label(LEFT + (nth * CHART_S * slot) / TIMES.length, axis, text, 'start'),
  );
  return [
    h('g', { class: 'grid' }, grid, times, label(width, axis, 'now')),
    h('path', { class: 'allowed', d: path('allowed', line, -1) }),
    h('path', { class: 'denied', d: path('denied', line + 1, 1) }),
  ];
}

/** The position of a second in a chart: 0 is the first. */
function indexOf({ at }: SnapshotSecond, start: number): number {
  return Math.floor((at - start) / 1000);
}

/** A second that the server leaves out has no requests. */
function secondAt(seconds: readonly SnapshotSecond[], at: number): SnapshotSecond {
  return seconds.find((each) => indexOf(each, at) === 0) ?? { at, allowed: 0, denied: 0 };
}

const HEIGHT = 24;
const SLOT = 2;
/** Requests per second that fill the height if no second has more: a single request is a low bar. */
const LEAST_SCALE = 4;

/** The last minute of a rule: denied requests stand on the allowed ones. Its figures are in the table beside it. */
export function Sparkline({ at, seconds }: Seconds) {
  const start = chartStart(at, RULE_CHART_S);
  const shown = seconds.filter((each) => each.at >= start);
  const most = Math.max(LEAST_SCALE, ...shown.map(({ allowed, denied }) => allowed + denied));
  const scale = (HEIGHT - 2) / most;
  const path = (of: 'allowed' | 'denied', below: (each: SnapshotSecond) => number) =>
    bars(shown, (each) => ({
      x: indexOf(each, start) * SLOT,
      y: HEIGHT - below(each) * scale,
      width: SLOT,
      height: -each[of] * scale,
    }));
  const viewBox = `0 0 ${RULE_CHART_S * SLOT} ${HEIGHT}`;
  return h(
    'svg',
    { class: 'sparkline', 'aria-hidden': true, viewBox, preserveAspectRatio: 'none' },
    h('path', { class: 'allowed', d: path('allowed', () => 0) }),
    h('path', { class: 'denied', d: path('denied', ({ allowed }) => allowed) }),
  );
}
