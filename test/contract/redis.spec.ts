import { openRedisStore } from '../support/redis-store.js';
import { storeContract } from './store-contract.js';

storeContract('Redis', (clock) => openRedisStore({ clock }));
