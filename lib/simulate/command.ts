import { writeFileSync } from 'node:fs';
import { RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import { readArguments } from './options.js';
import { Progress } from './progress.js';
import { htmlReport } from './report/html-report.js';
import { textReport } from './report/text-report.js';
import { simulate } from './simulate.js';

/**
 * Runs `simulate` with the arguments after its name.
 *
 * @returns the text to print
 * @throws RateLimitConfigError if an argument is wrong, or a log cannot be read
 */
export async function simulateCommand(args: readonly string[]): Promise<string> {
  const options = readArguments(args);
  const progress = new Progress(process.stderr, options.files);
  try {
    const simulation = await simulate(options, progress);
    if (simulation.requests === 0) throw new RateLimitConfigError([nothingIn(simulation)]);
    if (options.html !== undefined) writeFileSync(options.html, htmlReport(simulation, options.suggest));
    return options.json ? JSON.stringify(simulation, null, 2) : textReport(simulation, options.suggest);
  } finally {
    progress.end();
  }
}

function nothingIn({
  lines,
  malformed,
  withoutSubject,
  firstMalformed,
  by,
}: Awaited<ReturnType<typeof simulate>>): string {
  const [first] = firstMalformed;
  const found = `no request in ${lines} lines: ${malformed} malformed, ${withoutSubject} without ${by}`;
  const example = first ? `; the first malformed one is ${JSON.stringify(first.text)}` : '';
  return `${found}${example}; check --format, --map and --by`;
}
