import { describe } from '@jest/globals';
import { acquireContract } from './acquire.contract.js';
import { blocksContract } from './blocks.contract.js';
import { budgetContract } from './budget.contract.js';
import { concurrencyContract } from './concurrency.contract.js';
import { costByRuleContract } from './cost-by-rule.contract.js';
import { debtContract } from './debt.contract.js';
import { leakyBucketContract } from './leaky-bucket.contract.js';
import { leakyQueueContract } from './leaky-queue.contract.js';
import { shadowContract } from './shadow.contract.js';
import { queueContract } from './queue.contract.js';
import { peekAndResetContract } from './peek-and-reset.contract.js';
import { refundContract } from './refund.contract.js';
import { reservationContract } from './reservation.contract.js';
import { shortBlockContract } from './short-block.contract.js';
import { allOrNothingContract } from './all-or-nothing.contract.js';
import { everyAlgorithmContract } from './every-algorithm.contract.js';
import { benches, type Bench, type CreateStore } from './limiter-bench.js';
import { thresholdsContract } from './thresholds.contract.js';
import { timelinesContract } from './timelines.contract.js';
import { subjectsContract } from './subjects.contract.js';

/**
 * The behaviour of every store, with the same figures. Every new store has to pass it.
 *
 * @param more further contracts of the store
 */
export function storeContract(
  name: string,
  createStore: CreateStore,
  ...more: readonly ((bench: () => Bench) => void)[]
): void {
  describe(`the ${name} store`, () => {
    const bench = benches(createStore);
    timelinesContract(bench);
    leakyBucketContract(bench);
    concurrencyContract(bench);
    queueContract(bench);
    everyAlgorithmContract(bench);
    peekAndResetContract(bench);
    allOrNothingContract(bench);
    subjectsContract(bench);
    blocksContract(bench);
    shortBlockContract(bench);
    refundContract(bench);
    reservationContract(bench);
    costByRuleContract(bench);
    budgetContract(bench);
    thresholdsContract(bench);
    debtContract(bench);
    acquireContract(bench);
    leakyQueueContract(bench);
    shadowContract(bench);
    for (const contract of more) contract(bench);
  });
}
