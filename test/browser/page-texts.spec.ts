import { describe, expect, it } from '@jest/globals';
import { counted, duration, percent, rate, visible } from '../../lib/dashboard/page/figures.js';
import { bars, niceSteps } from '../../lib/dashboard/page/scale.js';

describe('the texts of the operations page', () => {
  it('show characters that are invisible or change the direction of text as escapes', () => {
    const hidden = [
      '\u0000',
      '\u001b',
      '\u0085',
      '\u00ad',
      '\u200b',
      '\u202e',
      '\u2028',
      '\u2066',
      '\ufeff',
      '\ue000',
    ];
    for (const character of [...hidden, '\ud800']) {
      expect(visible(`a${character}b`)).toBe(`a\\u{${character.codePointAt(0)!.toString(16)}}b`);
    }
    expect(visible('203.0.113.7, שלום, 日本 & <b>')).toBe('203.0.113.7, שלום, 日本 & <b>');
  });

  it('never show a rate or a share as 0 that is not', () => {
    expect([0, 0.001, 0.1, 1.25, 9.96, 1234.5].map(rate)).toEqual([
      '0',
      '0.001',
      '0.1',
      '1.3',
      '10',
      '1,235',
    ]);
    expect([0, 0.00001, 0.0042, 0.5, 1].map(percent)).toEqual(['0 %', '< 0.1 %', '0.42 %', '50 %', '100 %']);
    expect([0, 1, 1200].map((value) => counted(value, 'request'))).toEqual([
      '0 requests',
      '1 request',
      '1,200 requests',
    ]);
    expect([0, 999, 61_000, 7_200_000, 90_000_000].map(duration)).toEqual([
      '0 s',
      '0 s',
      '1 min',
      '2 h',
      '1 d',
    ]);
  });

  it('draw a bar of at least two pixels for a value that is not 0, and none for 0', () => {
    const path = bars([0, 0.01, -30], (height) => ({ x: 1, y: 50, width: 4, height }));
    expect(path).toBe('M1.0 50.0h4.0v2.0h-4.0zM1.0 50.0h4.0v-30.0h-4.0z');
  });

  it('label an axis with one to four round whole numbers, up to its maximum', () => {
    expect([1, 7, 15, 99, 250, 4321].map(niceSteps)).toEqual([
      [1],
      [2, 4, 6],
      [5, 10, 15],
      [20, 40, 60, 80],
      [100, 200],
      [1000, 2000, 3000, 4000],
    ]);
  });
});
