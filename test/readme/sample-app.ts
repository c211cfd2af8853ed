import { runProgram, type NodeProgram } from './node-program.js';

/** The built sample application while it runs. */
export interface SampleApp {
  /** Such as `http://localhost:34567`. */
  readonly origin: string;
  /** The TCP port of its consumer. */
  readonly messagesPort: string;
  readonly program: NodeProgram;
}

/** Starts the sample application on a free port and waits until it listens. */
export async function startSampleApp(variables: Readonly<Record<string, string>> = {}): Promise<SampleApp> {
  const program = runProgram('dist/sample-app/main.js', { PORT: '0', ...variables });
  const [origin] = await program.said(/http:\/\/localhost:\d+(?= lists)/);
  const [, messagesPort = ''] = /Messages: TCP port (\d+)/.exec(program.printed()) ?? [];
  return { origin, messagesPort, program };
}
