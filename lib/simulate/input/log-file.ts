import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { readerFor, type ReaderOptions } from './formats.js';
import type { LoggedRequest, LogReader, NamedField } from './log-fields.js';

const MOST_SHOWN = 3;

/** How far the clocks of a log and of this machine may be apart, in milliseconds. */
const CLOCKS_APART = 24 * 3_600_000;

/** The requests of a log file, read chunk by chunk. */
export class LogFile {
  /** The first malformed lines, at most 3, with their numbers from 1. */
  readonly firstMalformed: { file: string; line: number; text: string; reason: string }[] = [];
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
  private readonly chunks: ReturnType<typeof readLines>;

  /** @param onRead receives the number of bytes of each chunk as stored */
  constructor(
    readonly path: string,
    private readonly options: ReaderOptions,
    onRead: (bytes: number) => void,
  ) {
    this.chunks = readLines(readBytes(path, onRead));
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
      const { value: lines, done } = await this.chunks.next().catch(this.reject);
      if (done) return false;
      this.requests = [];
      this.at = 0;
      this.readAll(lines);
    }
    return true;
  }

  private readonly reject = (error: Error): never =>
    rejectConfig(`${this.path}: cannot be read: ${error.message}`);

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
    return readerFor(this.path, first, this.options);
  }

  private countMalformed(text: string, reason: string): void {
    this.malformed += 1;
    if (this.firstMalformed.length === MOST_SHOWN) return;
    this.firstMalformed.push({ file: this.path, line: this.lineNumber, text: text.slice(0, 200), reason });
  }
}

/** Visits the requests of several files in the order of their times. The order of lines in a file is kept. */
export async function visitInOrder(files: readonly LogFile[], visit: (request: LoggedRequest) => void) {
  const open = new Set(files);
  for (const file of files) if (!(await file.fill())) open.delete(file);
  while (open.size > 0) {
    const [first, second] = [...open].sort((one, other) => one.nextTime! - other.nextTime!);
    first!.visitUntil(second?.nextTime ?? Infinity, visit);
    if (first!.nextTime === undefined && !(await first!.fill())) open.delete(first!);
  }
}

/** The longest line in characters. A longer one is cut, so that a file without line breaks takes no memory. */
const LONGEST = 1 << 20;

/** Splits chunks into lines, and returns those of each chunk together. */
export async function* readLines(chunks: AsyncIterable<Buffer>) {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let isFirst = true;
  let isCut = false;
  for await (const chunk of chunks) {
    let text = rest + decoder.write(chunk);
    if (isFirst && text.startsWith('\ufeff')) text = text.slice(1);
    isFirst = false;
    const lines = text.split('\n');
    rest = lines.pop()!;
    if (isCut && lines.length > 0) {
      lines.shift();
      isCut = false;
    }
    if (isCut) rest = '';
    else if (rest.length > LONGEST) {
      lines.push(rest.slice(0, 1000));
      rest = '';
      isCut = true;
    }
    yield lines;
  }
  rest += decoder.end();
  if (rest !== '' && !isCut) yield [rest];
}

const CHUNK = 1 << 18;

/** The path of the standard input. */
const STDIN = '-';

/**
 * Reads a file, or the standard input, in chunks; gzip is uncompressed.
 *
 * @param onRead receives the number of bytes of each chunk as stored
 */
async function* readBytes(path: string, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  const chunks = storedBytes(path, onRead);
  const { value: first = Buffer.alloc(0) } = await chunks.next();
  const stored = joined(first, chunks);
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    yield* stored;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK });
  pipeline(Readable.from(stored), gunzip, () => undefined); // The loop below throws its error.
  yield* gunzip as AsyncIterable<Buffer>;
}

/** Reads the chunks as stored. The first one shows the format by two bytes, even if a pipe sends them one by one. */
async function* storedBytes(
  path: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer, undefined> {
  const stream = path === STDIN ? process.stdin : createReadStream(path, { highWaterMark: CHUNK });
  let start: Buffer = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    onRead(chunk.length);
    start = Buffer.concat([start, chunk]);
    if (start.length < 2) continue;
    yield start;
    start = Buffer.alloc(0);
  }
  yield start;
}

async function* joined(first: Buffer, others: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* others;
}
