// Takes a CPU profile of the process that it runs in, as `node --cpu-prof` would, but of a part of its life.
import { Session } from 'node:inspector/promises';

const SAMPLE_EVERY_US = 200;

let session;

export async function startProfile() {
  session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
  await session.post('Profiler.start');
}

/** The profile since `startProfile`, in the format of a .cpuprofile. */
export async function stopProfile() {
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return profile;
}
