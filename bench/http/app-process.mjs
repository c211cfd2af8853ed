// The parent's side of an app's process.
import { AnsweringProcess } from '../answering-process.mjs';

const APP = new URL('app.mjs', import.meta.url);

/**
 * Room enough for an app to start in without a full collection. One that comes then or not decides for good where
 * V8 puts what every request makes, which differs by some 9 µs a request, and by luck.
 */
const HEAP = '--initial-heap-size=512';

/**
 * Starts a contestant's app on a free port of 127.0.0.1. It can be asked for its `usage`, and to `startProfile`
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
