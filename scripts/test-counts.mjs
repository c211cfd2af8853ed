// Prints the counts of a JSON report of Jest (passed, failed, skipped), then each failed test with the first lines of its error.
//
//   node scripts/test-counts.mjs REPORT
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const MOST_LINES = 8;
const LONGEST_LINE = 300;

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
console.log(report.numPassedTests, failed, report.numPendingTests + report.numTodoTests);

for (const { name, status, message, assertionResults } of report.testResults) {
  if (status !== 'failed') continue;
  console.log(`       ${relative('.', name)}`);
  const tests = assertionResults.filter((each) => each.status === 'failed');
  for (const { fullName, failureMessages } of tests) print(`${fullName}\n${failureMessages[0] ?? ''}`);
  if (tests.length === 0) print(message);
}

function print(text) {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.trim() !== '');
  for (const line of lines.slice(0, MOST_LINES)) console.log(`         ${line.slice(0, LONGEST_LINE)}`);
}
