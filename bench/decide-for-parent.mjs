// The program of each process of deciding-processes.mjs: decides for the time in a message, and replies with the
// figures.
import { Redis } from 'ioredis';
import { flexible, ours } from './contestants.mjs';
import { drive } from './lanes.mjs';
import { subjectsOf } from './subjects.mjs';

const { limiter, url, keys, limit, rule } = JSON.parse(process.argv[2]);
const open = limiter === 'this library' ? ours({ rule }) : flexible();
const contestant = await open({ server: { connect: () => new Redis(url) }, limit });
const subjects = subjectsOf(keys);

process.on('message', async (load) => {
  process.send(await drive(contestant, { ...load, subjects, allowed: true }));
});
process.once('disconnect', () => contestant.close());
process.send('ready');
