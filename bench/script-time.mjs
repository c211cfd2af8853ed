// Reads the time that Redis spends in scripts, without the socket.

/**
 * Returns how many scripts ran during a function on a server without other clients, and their average time in
 * microseconds.
 */
export async function scriptTime(redis, act) {
  await redis.config('RESETSTAT');
  await act();
  const [, calls, usec] = /cmdstat_(?:fcall|evalsha):calls=(\d+),usec=(\d+)/.exec(
    await redis.info('commandstats'),
  );
  return { calls: Number(calls), micros: Number(usec) / Number(calls) };
}
