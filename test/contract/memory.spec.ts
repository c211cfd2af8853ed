import { MemoryStore } from '../../lib/index.js';
import { storeContract } from './store-contract.js';

storeContract('memory', (clock) => new MemoryStore({ clock }));
