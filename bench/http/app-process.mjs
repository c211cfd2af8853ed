// The parent's side of an app's process.
import { AnsweringProcess } from '../answering-process.mjs';

const APP = new URL('app.mjs', import.meta.url);

/**
 * Starts a contestant's app on a free port of 127.0.0.1. It can be asked for its `usage`, and to `startProfile`
 * and `stopProfile`.
 */
export async function startApp(platform, contestant, redis) {
  const app = new AnsweringProcess(APP, [platform, contestant.name, ...(redis ? [redis] : [])], {
    name: `the app of ${contestant.name} on ${platform}`,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port } = await app.answer();
  return Object.assign(app, { platform, contestant, port });
}
