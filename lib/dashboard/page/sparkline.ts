import type { SnapshotSecond } from '../snapshot.js';
import { drawing, setAttribute } from './element.js';
import { bars } from './scale.js';

const SECONDS = 60;
const HEIGHT = 24;
const SLOT = 2;
/** Requests per second that fill the height if no second has more: a single request is a low bar. */
const LEAST_SCALE = 4;

/** The last minute of a rule: denied requests stand on the allowed ones. Its figures are in the table beside it. */
export class Sparkline {
  readonly node = drawing('svg', {
    class: 'sparkline',
    'aria-hidden': 'true',
    viewBox: `0 0 ${SECONDS * SLOT} ${HEIGHT}`,
    preserveAspectRatio: 'none',
  });
  private readonly allowed = drawing('path', { class: 'allowed' });
  private readonly denied = drawing('path', { class: 'denied' });

  constructor() {
    this.node.append(this.allowed, this.denied);
  }

  update(at: number, seconds: readonly SnapshotSecond[]): void {
    const end = Math.floor(at / 1000);
    const indexOf = (each: { at: number }) => SECONDS - 1 - (end - Math.floor(each.at / 1000));
    const shown = seconds.filter((each) => indexOf(each) >= 0);
    const most = Math.max(LEAST_SCALE, ...shown.map(({ allowed, denied }) => allowed + denied));
    const scale = (HEIGHT - 2) / most;
    const place = (each: { at: number }) => ({ x: indexOf(each) * SLOT, width: SLOT });
    const allowed = bars(shown, (each) => ({ ...place(each), y: HEIGHT, height: -each.allowed * scale }));
    const denied = bars(shown, (each) => ({
      ...place(each),
      y: HEIGHT - each.allowed * scale,
      height: -each.denied * scale,
    }));
    setAttribute(this.allowed, 'd', allowed);
    setAttribute(this.denied, 'd', denied);
  }
}
