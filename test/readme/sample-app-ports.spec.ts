import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { pathOf } from './code-blocks.js';

/** Starts the sample application, which fails. Returns its exit code and its last line. */
async function failureOf(variables: NodeJS.ProcessEnv) {
  const env = { ...process.env, NO_COLOR: '1', ...variables };
  const app = spawn(process.execPath, [pathOf('dist/sample-app/main.js')], { env });
  const exited = once(app, 'exit') as Promise<[number]>;
  const [stdout, stderr] = await Promise.all([text(app.stdout), text(app.stderr)]);
  const [code] = await exited;
  return { code, line: `${stdout}${stderr}`.trim().split('\n').at(-1) };
}

describe('the sample application', () => {
  it('the sample application names the port that is in use, and the variable to set', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, line } = await failureOf({ PORT: '0', MESSAGES_PORT: `${port}` });
    expect(code).toBe(1);
    expect(line).toContain(`Port ${port} is in use. Choose others: PORT=4000 npm start`);
    server.close();
  });

  it.each(['abc', '-1', '65536', '3000.5'])(
    'the sample application names a variable that is no port: %s',
    async (given) => {
      const { code, line } = await failureOf({ PORT: given });
      expect(code).toBe(1);
      expect(line).toContain(`PORT: got "${given}"; allowed: a port from 0 to 65535, such as PORT=4000`);
    },
  );
});
