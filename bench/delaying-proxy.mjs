// The program of a slow network: passes what arrives on its port to the port of a server, and back, later.
//
//   node bench/delaying-proxy.mjs PORT MILLISECONDS
//
// It sleeps for each part, so that the delay is exact to some microseconds, unlike that of a timer. With one request in
// flight, nothing else waits meanwhile.
import { connect, createServer } from 'node:net';

const [port, delay] = process.argv.slice(2).map(Number);
const cell = new Int32Array(new SharedArrayBuffer(4));

function passLater(from, to) {
  from.on('data', (part) => {
    Atomics.wait(cell, 0, 0, delay);
    to.write(part);
  });
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

const proxy = createServer({ noDelay: true }, (near) => {
  const far = connect({ port, host: '127.0.0.1', noDelay: true });
  passLater(near, far);
  passLater(far, near);
});
proxy.listen(0, '127.0.0.1', () => process.send(proxy.address().port));
process.once('disconnect', () => process.exit());
