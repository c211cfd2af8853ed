// Prints what throttler's own storage answers to three requests for each of the given arguments, without the times.
//
// A program of its own, since Jest cannot load a CommonJS package that requires ES modules.
import { ThrottlerStorageService } from '@nestjs/throttler';

const limits = process.argv.slice(2).map(Number);
const answers = [];
for (const limit of limits) {
  const own = new ThrottlerStorageService();
  const hit = () => own.increment('ann', 10_000, limit, 10_000, 'default');
  const records = [await hit(), await hit(), await hit()];
  answers.push(records.map(({ totalHits, isBlocked }) => ({ totalHits, isBlocked })));
  own.onApplicationShutdown();
}
console.log(JSON.stringify(answers));
