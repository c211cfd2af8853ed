import embed from '../embed.mjs';
import { serverVersion } from './server-version.mjs';
import { startSharedServer } from './shared-server.mjs';

/** Runs once before all specs: embeds the Lua files and the operations page, and starts the Redis server that the specs share. */
export default async function globalSetup() {
  embed();
  try {
    const { url, source } = await startSharedServer();
    console.log(`Tests use ${await serverVersion(url)} at ${withoutPassword(url)} (${source}).`);
    process.env.TEST_REDIS_URL_ACTIVE = url;
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

function withoutPassword(url) {
  return url.replace(/\/\/[^@/]*@/, '//');
}
