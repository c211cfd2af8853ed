import { spawn } from 'node:child_process';

/**
 * Runs a command when this process has ended for any reason: normally, interrupted or killed. A shell waits for the
 * end of a pipe that the system closes with this process. An 'exit' listener would not be enough: Jest gives specs a
 * copy of `process` that never emits it, and SIGKILL skips it.
 *
 * @param {string[]} command
 * @returns {() => void} cancels the command
 */
export function lastWill(command) {
  const script = 'while read -r _; do :; done; exec "$@"';
  // Detached, so that Ctrl-C in the terminal does not end the shell first.
  const shell = spawn('sh', ['-c', script, 'sh', ...command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  shell.stdin.unref();
  return () => void shell.kill('SIGKILL');
}
