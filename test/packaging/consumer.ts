import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outsideJest, runCommand, runWith } from './run-command.js';
import { packageRoot } from './tarball.js';

const NPM_INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--no-package-lock'];

/** A user's project in a separate folder, with the packed package installed. */
export class Consumer {
  private constructor(private readonly folder: string) {}

  /** @param fixtures names of folders under fixtures/; files of a later one replace those of an earlier one */
  static async install(tarball: string, ...fixtures: string[]): Promise<Consumer> {
    const folder = await mkdtemp(join(tmpdir(), `${fixtures.at(-1)}-`));
    for (const fixture of fixtures)
      await cp(join(packageRoot, 'test/packaging/fixtures', fixture), folder, { recursive: true });
    await runCommand(folder, 'npm', ...NPM_INSTALL, tarball);
    return new Consumer(folder);
  }

  /** Compiles the project with its own TypeScript, including the declarations of packages. */
  async compile(...options: string[]): Promise<void> {
    await this.node('node_modules/typescript/bin/tsc', '--skipLibCheck', 'false', ...options);
  }

  /** Runs the project's specs with a Jest without configuration. */
  async runSpecs(...nodeOptions: string[]): Promise<void> {
    await this.node(
      ...nodeOptions,
      join(packageRoot, 'node_modules/jest/bin/jest.js'),
      '--config={}',
      '--rootDir=.',
      'limits.spec',
    );
  }

  /** Runs specs of this repository on the Nest 11 that the project has installed. */
  async runRepositorySpecs(...paths: string[]): Promise<void> {
    const flags = ['--experimental-vm-modules', '--max-semi-space-size=64'];
    const jest = [...flags, 'node_modules/jest/bin/jest.js', '--runInBand', '--forceExit'];
    await runWith({ NEST_11: this.folder }, packageRoot, process.execPath, ...jest, ...paths);
  }

  /** Runs `nest add` for the installed package, with the Nest CLI of this repository. */
  async nestAdd(...options: string[]): Promise<void> {
    const nest = join(packageRoot, 'node_modules/@nestjs/cli/bin/nest.js');
    await this.node(nest, 'add', 'nestjs-redis-rate-limit', '--skip-install', ...options);
  }

  /** Returns the text of a file. */
  async textOf(file: string): Promise<string> {
    return readFile(join(this.folder, file), 'utf8');
  }

  /** Runs a program that the project has installed. */
  async runInstalled(program: string, ...args: string[]): Promise<void> {
    await this.node(join('node_modules', program), ...args);
  }

  /** Returns the output of a CommonJS program. */
  async run(program: string): Promise<string> {
    const options = ['--enable-source-maps', '--input-type=commonjs'];
    return runCommand(this.folder, process.execPath, ...options, '--eval', program);
  }

  /** Starts a compiled application. */
  async start(env: NodeJS.ProcessEnv, file = 'main.js'): Promise<ConsumerApp> {
    const main = join(this.folder, 'dist', file);
    const options = { cwd: this.folder, env: { ...outsideJest(), ...env }, execArgv: [] };
    const child = fork(main, [], { ...options, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let errors = '';
    child.stderr!.on('data', (text) => (errors += String(text)));
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`The application ended with ${String(code)} before it listened:\n${errors}`);
    });
    const [url] = (await Promise.race([once(child, 'message'), failed])) as [string];
    return new ConsumerApp(url, child);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  private async node(...args: string[]): Promise<void> {
    await runCommand(this.folder, process.execPath, ...args);
  }
}

/** A consumer's application while it runs. */
export class ConsumerApp {
  constructor(
    private readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  get(path: string): Promise<Response> {
    return fetch(`${this.url}${path}`);
  }

  /** Requests the shutdown of the application; resolves with the exit code when its process has ended. */
  async close(): Promise<number> {
    const exited = once(this.child, 'exit');
    this.child.send('close');
    const [code] = (await exited) as [number];
    return code;
  }
}
