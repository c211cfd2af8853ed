import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { pathOf } from '../readme/code-blocks.js';

/** Returns the output of a script of this repository. It runs on the build, as for its users. */
export async function runScript(file: string, ...args: string[]): Promise<string> {
  const options = { cwd: pathOf('.'), maxBuffer: 1 << 24 };
  return (await promisify(execFile)(process.execPath, [pathOf(file), ...args], options)).stdout;
}
