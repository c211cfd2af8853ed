import { statSync } from 'node:fs';

/** The stream that shows the progress. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const FIRST_AFTER_MS = 1000;
const EVERY_MS = 200;
const WIDTH = 30;

/** Shows the progress of long work in one line of a terminal, and removes the line at the end. */
export class Progress {
  private readonly total: number;
  private done = 0;
  private nextAt: number;
  private isShown = false;

  /**
   * @param files the files to read; their sizes are the work
   * @param stopwatch milliseconds since an arbitrary instant
   */
  constructor(
    private readonly output: ProgressOutput,
    files: readonly string[],
    private readonly stopwatch: () => number = () => performance.now(),
  ) {
    const sizes = files.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? NaN);
    this.total = sizes.reduce((sum, size) => sum + size, 0);
    this.nextAt = stopwatch() + FIRST_AFTER_MS;
  }

  /** Reports bytes that were read. */
  read(bytes: number): void {
    this.done += bytes;
    if (Number.isNaN(this.total)) this.show(`read ${Math.floor(this.done / 1e6)} MB`);
    else this.show(bar(this.done / this.total, 'reading'));
  }

  /** Reports that a number of searches of limits are done. */
  search(done: number, total: number): void {
    this.show(bar(done / total, 'searching limits'));
  }

  /** Removes the line. */
  end(): void {
    if (this.isShown) this.output.write('\r\u001b[K');
    this.isShown = false;
  }

  private show(text: string): void {
    if (!this.output.isTTY || this.stopwatch() < this.nextAt) return;
    this.nextAt = this.stopwatch() + EVERY_MS;
    this.isShown = true;
    this.output.write(`\r${text}\u001b[K`);
  }
}

function bar(share: number, work: string): string {
  const full = Math.round(Math.min(1, share) * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${Math.floor(Math.min(1, share) * 100)} % ${work}`;
}
