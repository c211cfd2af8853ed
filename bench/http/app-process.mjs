// Starts an application in a child process.
import { AnsweringProcess } from '../answering-process.mjs';

const APP = new URL('app.mjs', import.meta.url);

/**
 * Enough heap for an application to start without a full garbage collection. Whether one happens decides where V8
 * stores the objects of each request, which changes the result by about 9 µs per request at random.
 */
const HEAP = '--initial-heap-size=512';

/**
 * Starts the application of a contestant on a free port of 127.0.0.1. It accepts the messages `usage`, `startProfile`
 * and `stopProfile`.
 */
export async function startApp(platform, contestant, redis) {
  const app = new AnsweringProcess(APP, [platform, contestant.name, ...(redis ? [redis] : [])], {
    name: `the app of ${contestant.name} on ${platform}`,
    execArgv: ['--disable-warning=ExperimentalWarning', HEAP],
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port } = await app.answer();
  return Object.assign(app, { platform, contestant, port });
}
