import { encodeSubject } from '../../lib/rules/keys.js';
import { type Subject, subjectFromProgram } from '../../lib/rules/subject.js';
import type { Dice } from './dice.js';

type Kind = (dice: Dice) => string;

const WORDS = ['FLUSHALL', 'SET', 'a', '0', '-1', 'redis.call', 'KEYS[1]', 'rl:', '__proto__', '\u{1f600}'];
const LUA = ["')", ']]', '[[', '--', 'end', 'return', '..', 'redis.call("FLUSHALL")', '%s', '\\0', ' ', '\n'];
const EMOJI = ['\u{1f600}', '\u{1f468}\u200d\u{1f469}', '\ufe0f', '\u{1f1e9}\u{1f1ea}', '\u0301', 'e'];

const json = (dice: Dice, depth = 0): unknown => {
  if (depth > 2 || dice.below(2) === 0) return dice.oneOf([null, true, 0, -1, 1e21, '', 'a', '{}', '\ud800']);
  const values = Array.from({ length: dice.below(4) }, () => json(dice, depth + 1));
  return dice.below(2) === 0 ? values : Object.fromEntries(values.map((value) => [dice.oneOf(WORDS), value]));
};

/** Subjects that malicious clients could send, and ordinary ones. */
const KINDS: readonly Kind[] = [
  (dice) => dice.text(40, () => String.fromCharCode(dice.below(256))), // bytes
  (dice) => dice.text(20, () => String.fromCharCode(dice.below(0x10000))), // Including lone surrogates.
  (dice) => dice.text(4, () => dice.oneOf(['\ud800', '\ud801', '\udc00', '\ufffd', '\u{10000}'])),
  (dice) => `*${dice.below(3)}\r\n${dice.text(3, () => `$${dice.below(9)}\r\n${dice.oneOf(WORDS)}\r\n`)}`, // RESP
  (dice) => dice.text(8, () => dice.oneOf(LUA)),
  (dice) => JSON.stringify(json(dice)),
  (dice) => dice.text(6, () => dice.oneOf('{}#|:@%')),
  (dice) => dice.text(6, () => dice.oneOf(EMOJI)),
  (dice) => dice.text(8, () => dice.oneOf('ab1|')), // Texts that look like encoded tuples.
  (dice) => `10.${dice.below(256)}.${dice.below(256)}.${dice.below(256)}`,
  (dice) => `user-${dice.below(1e6)}`,
  (dice) => 'x'.repeat(60 + dice.below(10)), // Lengths around 64, up to which subjects stay readable.
  (dice) => 'y'.repeat(dice.below(200) === 0 ? 100_000 + dice.below(1000) : 200 + dice.below(1000)),
];

/**
 * Returns another subject, such as a text, a tuple, or an earlier subject in its encoded form or split in two.
 *
 * @param earlier the subjects that it could be mistaken for
 */
export function wildSubject(dice: Dice, earlier: Subject = ''): Subject {
  const text = () => dice.oneOf(KINDS)(dice);
  const before = typeof earlier === 'string' ? earlier : earlier.join(dice.oneOf(['', '|', ',']));
  const at = dice.below(before.length + 1);
  return dice.oneOf([
    text,
    text,
    text,
    () => Array.from({ length: 1 + dice.below(4) }, text),
    () => encodeSubject(subjectFromProgram(earlier)!),
    () => [before.slice(0, at), before.slice(at)],
    () => before,
  ])();
}
