/** Random timelines repeat from run to run; `PARITY_SEED=7` draws others. A property may name a seed of its own. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['PARITY_SEED'] ?? 20_240_229) });
