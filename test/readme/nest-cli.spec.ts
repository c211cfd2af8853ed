import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { outsideJest, runCommand } from '../packaging/run-command.js';
import { pathOf } from './code-blocks.js';

const COPIED = [
  'nest-cli.json',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.sample-app.json',
  'lib',
  'sample-app',
];
const LINKED = ['node_modules', 'dist/esm', 'dist/cjs'];
const NEST = 'node_modules/@nestjs/cli/bin/nest.js';

let copy: string;

const filesOf = async (folder: string): Promise<string[]> =>
  (await readdir(join(copy, folder), { recursive: true })).sort();

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'rl-nest-cli-'));
  for (const name of COPIED) await cp(pathOf(name), join(copy, name), { recursive: true });
  await mkdir(join(copy, 'dist'));
  for (const name of LINKED) await symlink(pathOf(name), join(copy, name));
});

beforeEach(() => rm(join(copy, 'dist/sample-app'), { recursive: true, force: true }));

afterAll(() => rm(copy, { recursive: true, force: true }));

describe('the Nest CLI in the repository, without the name of a project', () => {
  it('`nest build` builds the sample application and writes nothing beside the sources', async () => {
    const before = [await filesOf('lib'), await filesOf('sample-app')];
    await runCommand(copy, process.execPath, NEST, 'build');
    expect([await filesOf('lib'), await filesOf('sample-app')]).toEqual(before);
    expect((await filesOf('.')).filter((name) => name.endsWith('sample-app/main.js'))).toEqual([
      'dist/sample-app/main.js',
    ]);
  });

  it('`nest start` starts the sample application', async () => {
    const env = { ...outsideJest(), PORT: '0', MESSAGES_PORT: '0', NO_COLOR: '1' };
    const nest = spawn(process.execPath, [NEST, 'start', '--no-shell'], { cwd: copy, env });
    const closed = once(nest, 'close');
    let output = '';
    for await (const text of nest.stdout.setEncoding('utf8')) {
      output += String(text);
      if (/http:\/\/localhost:\d+ lists/.test(output)) nest.kill('SIGINT');
    }
    expect(output).toMatch(/http:\/\/localhost:\d+ lists/);
    await closed;
  });
});
