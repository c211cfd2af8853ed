// The program of each process of deciding-processes.mjs: decides for the time in a message, and replies with the
// figures.
import { drive } from './lanes.mjs';
import { clientOf } from './measured-server.mjs';
import { subjectsOf } from './subjects.mjs';

const { from, name, options, address, keys, limit } = JSON.parse(process.argv[2]);
const { [name]: limiter } = await import(from);
const open = options === undefined ? limiter : limiter(options);
const subjects = subjectsOf(keys);
const contestant = await open({ server: { connect: () => clientOf(address) }, limit, subjects });

process.on('message', async (load) => process.send(await drive(contestant, { ...load, subjects })));
process.once('disconnect', () => process.exit());
process.send('ready');
