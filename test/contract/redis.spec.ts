import { openRedisStore } from '../support/redis-store.js';
import { steadyPaceContract } from './steady-pace.contract.js';
import { storeContract } from './store-contract.js';

storeContract('Redis', (clock) => openRedisStore({ clock }), steadyPaceContract);
