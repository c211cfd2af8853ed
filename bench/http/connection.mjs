// One HTTP connection that is kept, and asks one thing at a time. It does no more than has to be done: a load
// that is slower than the app would measure how the app waits.
import { once } from 'node:events';
import { connect } from 'node:net';

/** Stands for the status of an answer that did not come, or not as a whole. */
export const CUT_OFF = 'cut off';

export class Connection {
  #socket;
  #received = '';
  #answered;

  static async open(port) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text) => this.#read(text));
    socket.on('close', () => this.#end(CUT_OFF));
    socket.on('error', () => {}); // It is closed then.
  }

  /**
   * @param {string} request the whole of it
   * @param {(status: number | typeof CUT_OFF) => void} answered called when the whole answer is there
   */
  ask(request, answered) {
    this.#answered = answered;
    this.#socket.write(request, 'latin1');
  }

  close() {
    this.#answered = undefined;
    this.#socket.destroy();
  }

  #read(text) {
    this.#received += text;
    const head = this.#received.indexOf('\r\n\r\n') + 4;
    if (head < 4) return;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#received);
    if (this.#received.length < head + Number(length)) return;
    const status = Number(this.#received.slice(9, 12));
    this.#received = '';
    this.#end(status);
  }

  #end(status) {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(status);
  }
}
