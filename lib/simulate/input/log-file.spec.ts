import { describe, expect, it } from '@jest/globals';
import { readLines } from './log-file.js';

async function linesOf(...chunks: (string | Buffer)[]): Promise<string[]> {
  async function* bytes() {
    for (const chunk of chunks) yield Buffer.from(chunk as string);
  }
  const lines: string[] = [];
  for await (const some of readLines(bytes())) lines.push(...some);
  return lines;
}

describe('the lines of a log', () => {
  it('may be divided among chunks, also inside a character', async () => {
    const [start, end] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    expect(await linesOf('\ufeffa', 'b\nc', start, end, '\n', 'd')).toEqual(['ab', 'cé', 'd']);
  });

  it('are cut beyond a megabyte, without an end of the line to wait for', async () => {
    const long = 'x'.repeat(900_000);
    const lines = await linesOf('a\n', long, long, long, 'end\nb\nc');
    expect(lines.map((line) => line.length)).toEqual([1, 1000, 1, 1]);
  });
});
