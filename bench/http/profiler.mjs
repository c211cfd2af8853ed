// Records a CPU profile of this process, as `node --cpu-prof` does, but only for a part of its run time.
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

/** Returns the profile since `startProfile`, in the format of a .cpuprofile file. */
export async function stopProfile() {
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return profile;
}
