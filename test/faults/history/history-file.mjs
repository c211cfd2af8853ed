import { appendFileSync } from 'node:fs';

/** Milliseconds of one clock for all processes of a machine. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

/** Writes the history of a process, one JSON object per line, when the event loop has time. */
export class HistoryFile {
  #file;
  #lines = [];

  constructor(file) {
    this.#file = file;
  }

  write(line) {
    this.#lines.push(`${JSON.stringify(line)}\n`);
  }

  flush() {
    appendFileSync(this.#file, this.#lines.splice(0).join(''));
  }
}
