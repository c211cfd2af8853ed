import { execFile } from 'node:child_process';

/** Returns the stdout of a command; rejects with its whole output if it fails. */
export function runCommand(cwd: string, command: string, ...args: string[]): Promise<string> {
  return runWith({}, cwd, command, ...args);
}

/** `runCommand` with more variables. */
export function runWith(
  variables: NodeJS.ProcessEnv,
  cwd: string,
  command: string,
  ...args: string[]
): Promise<string> {
  const env = { ...outsideJest(), ...variables };
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, env, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}

/** The environment of a user's shell, without the variables of npm. */
export function outsideJest(): NodeJS.ProcessEnv {
  return { ...process.env, JEST_WORKER_ID: undefined, NODE_ENV: undefined, NODE_OPTIONS: undefined };
}
