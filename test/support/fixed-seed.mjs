/** Random timelines are the same in every run; `PARITY_SEED=7` selects others. A property may have its own seed. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['PARITY_SEED'] ?? 20_240_229) });
