import { execFile } from 'node:child_process';

/** What a command prints on stdout; rejects with all that it printed if it fails. */
export function runCommand(cwd: string, command: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, env: outsideJest(), maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** The environment as a user's shell has it. */
export function outsideJest(): NodeJS.ProcessEnv {
  return { ...process.env, JEST_WORKER_ID: undefined, NODE_ENV: undefined, NODE_OPTIONS: undefined };
}
