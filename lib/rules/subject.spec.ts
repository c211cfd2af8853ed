import { describe, expect, it } from '@jest/globals';
import { encodeSubject } from './keys.js';
import {
  boundedList,
  boundedPart,
  copyOfText,
  subjectForPrograms,
  subjectFromProgram,
  subjectFromSource,
  type SubjectDigest,
} from './subject.js';

const LONG = `ann.smith@${'example.'.repeat(10)}com`;

/** SHA-256 of `text:` and the UTF-16 of LONG. */
const DIGEST = '#4d8208a8360bb357001b92ffd20eb9cf';

describe('a part of a subject', () => {
  it.each(['', 'ann', 'ann smith', 'y'.repeat(64), '😀'.repeat(32)])(
    'is unchanged up to 64 characters: %j',
    (part) => {
      expect(boundedPart(part)).toBe(part);
    },
  );

  it('is a digest with its first 8 characters if it is longer, and its key holds the digest only', () => {
    expect(boundedPart(LONG)).toBe(`${DIGEST}ann.smit`);
    expect(encodeSubject(boundedPart(LONG))).toBe(DIGEST);
  });

  it('is a digest without half a character at its end', () => {
    expect(boundedPart('1234567😀'.repeat(10)).slice(33)).toBe('1234567');
  });

  it('differs from every other long part, also with lone surrogates, which UTF-8 does not distinguish', () => {
    const parts = ['\ud800', '\ud801', '\ufffd', ' ', 'y'].map((end) => boundedPart('y'.repeat(80) + end));
    expect(new Set(parts).size).toBe(parts.length);
  });

  it.each([(digest: string) => digest, (digest: string) => digest.slice(0, 33), () => '#', () => '#general'])(
    'is a digest itself if it begins like one, so that nobody shares the counter of another: %#',
    (forge) => {
      const forged = forge(boundedPart(LONG));
      expect(boundedPart(forged)).not.toBe(forged);
      expect(encodeSubject(boundedPart(forged))).not.toBe(encodeSubject(boundedPart(LONG)));
    },
  );
});

describe('a list', () => {
  it('is bounded part by part', () => {
    const subject = subjectFromProgram(['acme', LONG, 7])!;
    expect(subject).toEqual(['acme', `${DIGEST}ann.smit`, '7']);
    expect(encodeSubject(subject)).toBe(`4|acme|33|${DIGEST}|1|7`);
  });

  it.each([[Array.from({ length: 9 }, () => 'a')], [Array.from({ length: 5 }, () => 'a'.repeat(60))]])(
    'of more than 8 parts or 256 characters is one digest: %j',
    (parts) => {
      const [digest, ...others] = boundedList(parts);
      expect([digest, others]).toEqual([expect.stringMatching(/^#[0-9a-f]{32}$/), []]);
      expect(boundedList([...parts.slice(1), 'b'])).not.toEqual([digest]);
      expect(boundedPart(parts.join(''))).not.toContain(digest);
    },
  );
});

describe('the digest of an event', () => {
  const digest = subjectForPrograms(boundedPart(LONG)) as SubjectDigest;

  it('has the first characters and 128 bits, and stands for the subject in operations', () => {
    expect(digest).toMatchObject({ head: 'ann.smit', digest: DIGEST.slice(1) });
    expect(digest.toString()).toBe(`ann.smit…${DIGEST}`);
    expect(subjectFromProgram(digest)).toBe(boundedPart(LONG));
    expect(subjectFromProgram(['acme', digest])).toEqual(['acme', boundedPart(LONG)]);
  });

  it('is no subject as the object that a client can send', () => {
    expect(subjectFromProgram(JSON.parse(JSON.stringify(digest)))).toBeUndefined();
    expect(subjectFromProgram(['acme', { head: digest.head, digest: digest.digest }])).toBeUndefined();
  });

  it('is read from a source of live rules, which holds it as JSON', () => {
    const stored = JSON.parse(JSON.stringify(['acme', digest])) as string[];
    expect(subjectFromProgram(subjectFromSource(stored))).toEqual(['acme', boundedPart(LONG)]);
    expect(subjectFromProgram(subjectFromSource({ head: digest.head, digest: 'x' }))).toBeUndefined();
  });
});

it('a copy of a subject is equal to it', () => {
  for (const text of ['', 'ann', 'y'.repeat(64), '\ud800 ä 😀'.repeat(10)])
    expect(copyOfText(text)).toBe(text);
});
