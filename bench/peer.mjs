// The limiter whose decisions per second the others are compared with.
import { times } from './columns.mjs';
import { compared } from './contest.mjs';

const PEER = 'rate-limiter-flexible';

/** Returns the rows, each compared with that limiter's row with as many keys. */
export function comparedWithPeer(rows) {
  const peerOf = ({ keys }) => rows.find((row) => row.limiter === PEER && row.keys === keys);
  return compared(rows, 'perSecond', peerOf);
}

/** The last column of their tables. */
export const TO_PEER = { [PEER]: (row) => times(row.times) };
