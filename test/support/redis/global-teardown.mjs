import { stopSharedServer } from './shared-server.mjs';

/** Runs once after all specs. */
export default async function globalTeardown() {
  await stopSharedServer();
}
