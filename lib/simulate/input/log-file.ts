import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import {
  readBytes,
  type LineOptions,
  type LoggedRequest,
  type LogReader,
  readLines,
  type NamedField,
} from './lines.js';
import { readerFor, type Format } from './formats.js';

const MOST_SHOWN = 3;

/** How far the clocks of a log and of this machine may be apart, in milliseconds. */
const CLOCKS_APART = 24 * 3_600_000;

/** A line that is not a request. */
export interface MalformedLine {
  readonly file: string;
  /** Number of the line, from 1. */
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

/** What all files of a simulation share. */
export interface LogFileOptions extends LineOptions {
  readonly format?: Format | undefined;
  /** Receives the number of bytes of each chunk as stored. */
  readonly onRead: (bytes: number) => void;
}

/** The requests of a log file, read chunk by chunk. */
export class LogFile {
  /** The first malformed lines, at most 3. */
  readonly firstMalformed: MalformedLine[] = [];
  /** Number of lines, without empty ones and headers. */
  lines = 0;
  malformed = 0;
  /** The fields of the first line that has any. */
  firstFields: readonly NamedField[] = [];
  private reader: LogReader | undefined;
  private lineNumber = 0;
  private requests: LoggedRequest[] = [];
  private at = 0;
  /** In microseconds. A line with a later time is malformed: it would decide all later lines at that time. */
  private readonly latest = (Date.now() + CLOCKS_APART) * 1000;
  private readonly chunks: AsyncGenerator<readonly string[]>;

  constructor(
    readonly path: string,
    private readonly options: LogFileOptions,
  ) {
    this.chunks = readLines(readBytes(path, options.onRead));
  }

  /** The time of the next request; `undefined` if the next chunk has to be read. */
  get nextTime(): number | undefined {
    return this.requests[this.at]?.time;
  }

  /** Visits the requests that have been read, as long as they are not later than a time. */
  visitUntil(time: number, visit: (request: LoggedRequest) => void): void {
    const { requests } = this;
    while (this.at < requests.length && requests[this.at]!.time <= time) visit(requests[this.at++]!);
  }

  /**
   * Reads on until there is a request. Returns whether there is one.
   *
   * @throws RateLimitConfigError if the file cannot be read
   */
  async fill(): Promise<boolean> {
    while (this.at >= this.requests.length) {
      const { value: lines, done } = await this.nextLines();
      if (done) return false;
      this.requests = [];
      this.at = 0;
      this.readAll(lines);
    }
    return true;
  }

  private async nextLines(): Promise<IteratorResult<readonly string[], undefined>> {
    try {
      return (await this.chunks.next()) as IteratorResult<readonly string[], undefined>;
    } catch (error) {
      rejectConfig(`${this.path}: cannot be read: ${(error as Error).message}`);
    }
  }

  private readAll(lines: readonly string[]): void {
    for (const line of lines) {
      this.lineNumber += 1;
      const text = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (text === '') continue;
      this.reader ??= this.readerOf(text, lines);
      const request = this.reader.read(text);
      if (request === undefined) continue;
      this.lines += 1;
      if (this.firstFields.length === 0) this.firstFields = this.reader.fields(text);
      if (typeof request === 'string') this.countMalformed(text, request);
      else if (request.time <= this.latest) this.requests.push(request);
      else this.countMalformed(text, 'time: it is in the future');
    }
  }

  /** Creates the reader by the first lines. */
  private readerOf(text: string, lines: readonly string[]): LogReader {
    const first = [text, ...lines.slice(lines.indexOf(text) + 1)].map((line) => line.trimEnd());
    return readerFor(this.path, first, this.options, this.options.format);
  }

  private countMalformed(text: string, reason: string): void {
    this.malformed += 1;
    if (this.firstMalformed.length === MOST_SHOWN) return;
    this.firstMalformed.push({ file: this.path, line: this.lineNumber, text: text.slice(0, 200), reason });
  }
}

/** Visits the requests of several files in the order of their times. The order of lines in a file is kept. */
export async function visitInOrder(
  files: readonly LogFile[],
  visit: (request: LoggedRequest) => void,
): Promise<void> {
  const open = new Set(files);
  for (const file of files) if (!(await file.fill())) open.delete(file);
  while (open.size > 0) {
    const [first, second] = [...open].sort((one, other) => one.nextTime! - other.nextTime!);
    first!.visitUntil(second?.nextTime ?? Infinity, visit);
    if (first!.nextTime === undefined && !(await first!.fill())) open.delete(first!);
  }
}
