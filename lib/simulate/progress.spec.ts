import { describe, expect, it } from '@jest/globals';
import { Progress } from './simulate.js';

function open(isTTY: boolean) {
  let now = 0;
  const written: string[] = [];
  const output = { isTTY, write: (text: string) => written.push(text) };
  const progress = new Progress(output, ['package.json'], () => now);
  return { progress, written, pass: (ms: number) => (now += ms) };
}

describe('the progress of a simulation', () => {
  it('is shown after a second, and removed at the end', () => {
    const { progress, written, pass } = open(true);
    progress.read(1);
    expect(written).toEqual([]);
    pass(1000);
    progress.read(1e9);
    progress.read(1e9);
    pass(200);
    progress.search(3, 6);
    progress.end();
    expect(written).toEqual([
      `\r[${'#'.repeat(30)}] 100 % reading\u001b[K`,
      `\r[${'#'.repeat(15)}${'.'.repeat(15)}] 50 % searching limits\u001b[K`,
      '\r\u001b[K',
    ]);
  });

  it('is not written to a file', () => {
    const { progress, written, pass } = open(false);
    pass(5000);
    progress.read(1);
    progress.end();
    expect(written).toEqual([]);
  });
});
