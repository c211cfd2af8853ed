import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot, packTarball } from '../packaging/tarball.js';

/** The examples of the repository, with the packed tarball and the dependencies that are installed here. */
export class Examples {
  private readonly running = new Set<ChildProcess>();
  /** What all examples have printed. */
  output = '';

  private constructor(private readonly folder: string) {}

  static async install(): Promise<Examples> {
    const folder = mkdtempSync(join(tmpdir(), 'examples-'));
    const modules = join(folder, 'node_modules');
    mkdirSync(join(modules, '.bin'), { recursive: true });
    for (const name of readdirSync(join(packageRoot, 'node_modules'))) {
      if (name !== '.bin') symlinkSync(join(packageRoot, 'node_modules', name), join(modules, name));
    }
    symlinkSync('../typescript-7/bin/tsc', join(modules, '.bin/tsc'));
    const installed = join(modules, 'nestjs-redis-rate-limit');
    mkdirSync(installed);
    const tarball = await packTarball();
    execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
    rmSync(join(tarball, '..'), { recursive: true });
    cpSync(join(packageRoot, 'examples'), join(folder, 'examples'), { recursive: true });
    return new Examples(folder);
  }

  /** Starts an example as its reader does, with `npm start`, and returns its address. Rejects with its output if it ends. */
  async start(task: string, variables: Record<string, string> = {}): Promise<string> {
    const child = spawn('npm', ['start'], {
      cwd: join(this.folder, 'examples', task),
      env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', ...variables },
      detached: true,
    });
    this.running.add(child);
    let output = '';
    return new Promise((resolve, reject) => {
      const read = (text: Buffer) => {
        output += String(text);
        this.output += String(text);
        const [, address] = /Listening on (http:\S+)/.exec(output) ?? [];
        if (address) resolve(address.replace('[::1]', 'localhost'));
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('exit', () => reject(new Error(`${task} has ended: ${output}`)));
    });
  }

  remove(): void {
    // The group: npm, its shell and the program.
    for (const { pid, exitCode } of this.running) if (pid && exitCode === null) process.kill(-pid);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
