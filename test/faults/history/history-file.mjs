import { appendFileSync } from 'node:fs';

/** Milliseconds of one clock for all processes of a machine. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

/** What a process writes down, one JSON object a line, and when it has the time for it. */
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
