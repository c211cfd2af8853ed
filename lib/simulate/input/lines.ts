import { StringDecoder } from 'node:string_decoder';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A request of a log. */
export interface LoggedRequest {
  /** Microseconds since the epoch. */
  readonly time: number;
  /** The subject; `undefined` if the line has none. */
  readonly subject: string | undefined;
}

/** Reads a line of a log. Returns the reason if the line is malformed, and `undefined` if it is a header. */
export type LineReader = (line: string) => LoggedRequest | string | undefined;

/** A field of a line: its name as `--map` takes it, and its value. */
export type NamedField = readonly [name: string, value: unknown];

/** What reads the lines of a log. */
export interface LogReader {
  readonly read: LineReader;
  /** Returns the fields of a line; none if it is malformed. */
  readonly fields: (line: string) => readonly NamedField[];
}

/** What is read of each line. */
export interface LineOptions {
  /** The fields that make the subject. */
  readonly by: readonly string[];
  /** Names of fields in the log, by the name that they are used as: `{ time: 'ts' }`. */
  readonly map: Readonly<Record<string, string>>;
  /** The names that the format uses for a field, the preferred one first. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
}

/** The longest line in characters. A longer one is cut, so that a file without line breaks takes no memory. */
const LONGEST = 1 << 20;

/** Splits chunks into lines, and returns those of each chunk together. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
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
export async function* readBytes(path: string, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  const stream = path === STDIN ? process.stdin : createReadStream(path, { highWaterMark: CHUNK });
  const chunks = counted(stream as AsyncIterable<Buffer>, onRead);
  const first = await firstBytes(chunks);
  const stored = joined(first, chunks);
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    yield* stored;
    return;
  }
  const gunzip = createGunzip({ chunkSize: CHUNK });
  pipeline(Readable.from(stored), gunzip, () => undefined); // The loop below throws its error.
  yield* gunzip as AsyncIterable<Buffer>;
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onRead(chunk.length);
    yield chunk;
  }
}

/** Returns the bytes that show the format: two of them, even if a pipe sends them one by one. */
async function firstBytes(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < 2) {
    const next = await chunks.next();
    if (next.done) break;
    first = Buffer.concat([first, next.value]);
  }
  return first;
}

async function* joined(first: Buffer, others: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  yield* others;
}
