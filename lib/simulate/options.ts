import { parseArgs } from 'node:util';
import { FROM_ONE, rejection } from '../contracts/options.js';
import { didYouMean, problemOf, rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { FORMAT, type Format } from './input/formats.js';
import { readRule } from './rule-text.js';
import type { Target } from './suggest.js';

/** The options of a simulation. */
export type SimulateOptions = Readonly<ReturnType<typeof readArguments>>;

const OPTIONS = {
  by: { type: 'string', multiple: true },
  rule: { type: 'string', multiple: true },
  suggest: { type: 'string' },
  format: { type: 'string' },
  map: { type: 'string', multiple: true },
  'max-clients': { type: 'string' },
  json: { type: 'boolean' },
  html: { type: 'string' },
} as const;

const DEFAULT_MAX_CLIENTS = 1_000_000;

/**
 * Reads the arguments of the command.
 *
 * @throws RateLimitConfigError with the first wrong argument
 */
export function readArguments(args: readonly string[]) {
  const { values, positionals } = parsed(args);
  const { rule = [], format, html } = values;
  if (positionals.length === 0) rejectConfig('no log to read; write its path, or "-" for the standard input');
  if (rule.length === 0 && values.suggest === undefined) {
    rejectConfig(`no rule; write --rule '100/1m', or --suggest 0.1% for a limit`);
  }
  if (format !== undefined && !FORMAT.accepts(format)) rejectConfig(rejection('--format', format, FORMAT));
  rule.forEach(readRule);
  const by = (values.by ?? ['ip']).flatMap((names) => names.split(','));
  if (by.includes('')) {
    const allowed = 'ip, user, path, everyone, a header or a field; or a list of these';
    rejectValue('--by', values.by!.join(','), allowed);
  }
  return {
    /** Paths; `-` is the standard input. */
    files: positionals as readonly string[],
    /** The texts of valid rules. */
    rules: rule as readonly string[],
    by,
    map: mapOf(values.map ?? []),
    format: format as Format | undefined,
    /** Maximum total size of clients and states in memory. */
    maxClients: maxClientsOf(values['max-clients']),
    suggest: targetOf(values.suggest),
    /** Whether the result is printed as JSON. */
    json: values.json ?? false,
    /** Path of the HTML report. */
    html,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const name = /'--([\w-]+)/.exec((error as Error).message)?.[1] ?? '';
    const names = Object.keys(OPTIONS);
    if (names.includes(name)) rejectConfig((error as Error).message);
    const allowed = names.map((each) => `--${each}`).join(', ');
    const fix = didYouMean(name, names)?.replace('"', '"--');
    rejectConfig(problemOf(`--${name}: no such option`, allowed, fix));
  }
}

function mapOf(given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.flatMap((text) => text.split(',')).map((text) => text.split('='));
  const invalid = pairs.find((pair) => pair.length !== 2 || pair.includes(''));
  if (invalid) rejectValue('--map', invalid.join('='), 'name=field, such as ip=client.addr,time=ts');
  return Object.fromEntries(pairs) as Record<string, string>;
}

function maxClientsOf(text: string | undefined): number {
  const given = FROM_ONE.read!(text ?? DEFAULT_MAX_CLIENTS);
  if (FROM_ONE.accepts(given)) return given as number;
  rejectConfig(rejection('--max-clients', text, FROM_ONE));
}

function targetOf(text: string | undefined): Target | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)%(requests|clients)?$/.exec(text);
  const share = Number(match?.[1]) / 100;
  if (match && share <= 1) return { share, of: (match[2] ?? 'requests') as Target['of'] };
  const fix = /^\d+(\.\d+)?$/.test(text) ? `write "${text}%"` : undefined;
  const allowed = 'a share from 0% to 100%, of requests or of clients: 0.1%, 0.1%clients';
  rejectValue('--suggest', text, allowed, fix);
}
