import { closeSync, existsSync, openSync, readSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { rejectConfig, rejectValue } from '../contracts/rate-limit-config.error.js';
import { escaped } from '../contracts/shown.js';
import { readArguments } from './options.js';
import { Progress, simulate, type Simulation } from './simulate.js';
import { htmlReport } from './report/html-report.js';
import { textReport } from './report/text-report.js';

/**
 * Runs `simulate` with the arguments after its name.
 *
 * @returns the text to print
 * @throws RateLimitConfigError if an argument is wrong, or a log cannot be read
 */
export async function simulateCommand(args: readonly string[]): Promise<string> {
  const options = readArguments(args);
  if (options.html !== undefined) checkReportFile(options.html, options.files);
  const progress = new Progress(process.stderr, options.files);
  try {
    const simulation = await simulate(options, progress);
    if (simulation.requests === 0) rejectConfig(nothingIn(simulation));
    if (options.html !== undefined) writeFileSync(options.html, htmlReport(simulation, options.suggest));
    return options.json ? JSON.stringify(simulation, null, 2) : textReport(simulation, options.suggest);
  } finally {
    progress.end();
  }
}

/**
 * @throws RateLimitConfigError if its folder is missing, or if the file exists and is not a report: a slip in the arguments
 * must not overwrite a log
 */
function checkReportFile(path: string, logs: readonly string[]): void {
  if (!statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory())
    rejectValue('--html', path, 'a file in a folder that exists');
  if (!existsSync(path) || isReport(path)) return;
  const isLog = logs.some((log) => existsSync(log) && realpathSync(log) === realpathSync(path));
  const allowed = isLog ? 'another file than the log' : 'a new file, or an earlier report';
  rejectValue('--html', path, allowed);
}

function isReport(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const start = Buffer.alloc(HTML.length);
  const file = openSync(path, 'r');
  try {
    readSync(file, start);
  } finally {
    closeSync(file);
  }
  return start.toString('latin1') === HTML;
}

/** The first characters of a report. */
const HTML = '<!doctype html>';

function nothingIn(simulation: Simulation): string {
  const { lines, malformed, withoutSubject, firstMalformed, by, fields } = simulation;
  const [first] = firstMalformed;
  const found = `no request in ${lines} lines: ${malformed} malformed, ${withoutSubject} without ${by}`;
  const example = first
    ? `; the first malformed one is ${escaped(`${JSON.stringify(first.text)} (${first.reason})`)}`
    : '';
  return `${found}${example}; ${fields}`;
}
