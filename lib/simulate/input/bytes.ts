import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

const CHUNK = 1 << 18;

/** The path of the standard input. */
export const STDIN = '-';

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
