// How long Redis is in a script, by what it says of itself, without the socket.

/**
 * How many scripts ran while something was done on a server that nobody else uses, and how many microseconds
 * of the server one took on average.
 */
export async function scriptTime(redis, act) {
  await redis.config('RESETSTAT');
  await act();
  const [, calls, usec] = /cmdstat_(?:fcall|evalsha):calls=(\d+),usec=(\d+)/.exec(
    await redis.info('commandstats'),
  );
  return { calls: Number(calls), micros: Number(usec) / Number(calls) };
}
