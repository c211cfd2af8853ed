// A persistent HTTP connection that sends one request at a time. It does as little as possible, because a load
// generator slower than the application would measure how the application waits.
import { once } from 'node:events';
import { connect } from 'node:net';

/** The status of a response that did not arrive, or not completely. */
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
    socket.on('error', () => {}); // The connection is then closed.
  }

  /**
   * @param {string} request the full text of the request
   * @param {(status: number | typeof CUT_OFF) => void} answered called when the response is complete
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
