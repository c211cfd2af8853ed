import { clockFault } from './clock-fault.js';
import type { ServerFault } from './fault.js';
import { serverFaults } from './server-faults.js';
import { onOneServer, type StagedFault } from './stage.js';
import { topologyFaults } from './topology-faults.js';
import { wayFaults } from './way-faults.js';

/** The faults of one server, and of the connection to it. */
export const FAULTS_OF_A_SERVER: readonly ServerFault[] = [...serverFaults, ...wayFaults, clockFault];

/** A fault that an application cannot be run into, because it is there before. */
const missingServer: ServerFault = {
  name: 'Redis is not there when the processes start',
  deciding: 'fallback',
  breaker: 'once',
  isThereAtStart: true,
  make: ({ server }) => server.kill(),
  heal: ({ server }) => server.restart(),
};

/** Every fault of the suite. */
export const EVERY_FAULT: readonly StagedFault[] = [
  ...[...FAULTS_OF_A_SERVER, missingServer].map(onOneServer),
  ...topologyFaults,
];
