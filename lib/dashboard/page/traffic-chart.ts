import type { Snapshot, SnapshotSecond } from '../snapshot.js';
import { byId, drawing, setAttribute, setText } from './element.js';
import { clock, count, rate } from './figures.js';
import { bars, niceSteps } from './scale.js';

const SECONDS = 120;
/** Pixels for the labels of the axes. */
const LEFT = 44;
const BOTTOM = 20;
const TOP = 8;
/** Least height for denied requests, in pixels: few of them stay visible beside many allowed ones. */
const LEAST_DENIED = 22;

/** Shown instead of the figures of a second. */
const QUIET = 'No requests in the last two minutes';

/** Draws allowed requests above the line and denied ones below it, per second, on one scale. */
export class TrafficChart {
  private readonly svg = document.querySelector<SVGSVGElement>('#chart')!;
  private readonly reading = byId('reading');
  private readonly grid = drawing('g', { class: 'grid' });
  private readonly allowed = drawing('path', { class: 'allowed' });
  private readonly denied = drawing('path', { class: 'denied' });
  private readonly cursor = drawing('rect', { class: 'cursor', visibility: 'hidden' });
  private seconds: readonly SnapshotSecond[] = [];
  private end = 0;
  private pointer: number | undefined;

  constructor() {
    this.svg.append(this.grid, this.cursor, this.allowed, this.denied);
    this.svg.addEventListener('pointermove', ({ offsetX }) => this.point(offsetX));
    this.svg.addEventListener('pointerleave', () => this.point(undefined));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  update({ at, seconds }: Snapshot): void {
    this.seconds = seconds;
    this.end = Math.floor(at / 1000) * 1000;
    this.draw();
    this.describe();
  }

  private get size(): { width: number; height: number; slot: number } {
    const { clientWidth: width, clientHeight: height } = this.svg;
    return { width, height, slot: (width - LEFT) / SECONDS };
  }

  /** The position of a second: 119 is the latest. */
  private indexOf({ at }: SnapshotSecond): number {
    return SECONDS - 1 - Math.round((this.end - Math.floor(at / 1000) * 1000) / 1000);
  }

  private draw(): void {
    const { width, height, slot } = this.size;
    if (width === 0) return;
    setAttribute(this.svg, 'viewBox', `0 0 ${width} ${height}`);
    const shown = this.seconds.filter((second) => this.indexOf(second) >= 0);
    const most = Math.max(1, ...shown.map(({ allowed }) => allowed));
    const mostDenied = Math.max(0, ...shown.map(({ denied }) => denied));
    const room = height - TOP - BOTTOM;
    const below = Math.max(LEAST_DENIED, (room * mostDenied) / (most + mostDenied));
    const scale = Math.min((room - below) / most, mostDenied > 0 ? below / mostDenied : Infinity);
    const line = TOP + room - below;
    const place = (second: SnapshotSecond) => ({
      x: LEFT + this.indexOf(second) * slot,
      width: slot < 4 ? slot : slot - 1,
    });
    setAttribute(
      this.allowed,
      'd',
      bars(shown, (each) => ({ ...place(each), y: line, height: -each.allowed * scale })),
    );
    setAttribute(
      this.denied,
      'd',
      bars(shown, (each) => ({ ...place(each), y: line + 1, height: each.denied * scale })),
    );
    this.drawGrid(line, scale, mostDenied);
    this.point(this.pointer);
  }

  private drawGrid(line: number, scale: number, mostDenied: number): void {
    const { width, height, slot } = this.size;
    const levels = niceSteps((line - TOP) / scale).map((value) => ({
      y: line - value * scale,
      text: rate(value),
    }));
    if (mostDenied > 0) {
      const y = line + 1 + mostDenied * scale;
      if (y - line > 14) levels.push({ y, text: rate(mostDenied) });
    }
    const rows = levels.flatMap(({ y, text }) => [
      drawing('path', { d: `M${LEFT} ${Math.round(y) + 0.5}H${width}` }),
      label(LEFT - 8, y + 4, 'end', text),
    ]);
    const times = [0, 30, 60, 90].map((index) =>
      label(
        LEFT + index * slot,
        height - 4,
        'start',
        index === 60 ? '1 min' : index === 0 ? '2 min ago' : `${120 - index} s`,
      ),
    );
    this.grid.replaceChildren(...rows, ...times, label(width, height - 4, 'end', 'now'));
  }

  /** Shows the figures of the second at a position in pixels. */
  private point(x: number | undefined): void {
    this.pointer = x;
    const { height, slot } = this.size;
    const index = x === undefined ? -1 : Math.floor((x - LEFT) / slot);
    const isPointed = this.end > 0 && index >= 0 && index < SECONDS;
    const quiet = this.end > 0 && this.seconds.length === 0 ? QUIET : '';
    setAttribute(this.cursor, 'visibility', isPointed ? 'visible' : 'hidden');
    setText(this.reading, isPointed ? readingOf(this.secondAt(index)) : quiet);
    if (!isPointed) return;
    const place = { x: LEFT + index * slot, y: TOP, width: slot, height: height - TOP - BOTTOM };
    for (const [name, value] of Object.entries(place)) setAttribute(this.cursor, name, String(value));
  }

  /** A second that the server leaves out has no requests. */
  private secondAt(index: number): SnapshotSecond {
    const known = this.seconds.find((each) => this.indexOf(each) === index);
    return known ?? { at: this.end - (SECONDS - 1 - index) * 1000, allowed: 0, denied: 0 };
  }

  private describe(): void {
    const sum = (of: (second: SnapshotSecond) => number) =>
      count(this.seconds.reduce((total, each) => total + of(each), 0));
    const text = `Requests of the last two minutes: ${sum(({ allowed }) => allowed)} allowed, ${sum(({ denied }) => denied)} denied.`;
    setAttribute(this.svg, 'aria-label', text);
  }
}

function readingOf({ at, allowed, denied }: SnapshotSecond): string {
  return `${clock(at)}: ${count(allowed)} allowed, ${count(denied)} denied`;
}

function label(x: number, y: number, anchor: 'start' | 'end', text: string): SVGTextElement {
  const created = drawing('text', { x: String(x), y: String(y), 'text-anchor': anchor });
  created.textContent = text;
  return created;
}
