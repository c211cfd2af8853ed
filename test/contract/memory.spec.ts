import { MemoryStore } from '../../lib/index.js';
import { steadyPaceContract } from './steady-pace.contract.js';
import { storeContract } from './store-contract.js';

storeContract('memory', (clock) => new MemoryStore({ clock }), steadyPaceContract);
