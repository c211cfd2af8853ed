// Sends messages to the gateway: node sample-app/clients/chat.mjs <text> <times>
import { io } from 'socket.io-client';

const [text = 'hello', times = '1'] = process.argv.slice(2);
const socket = io(`http://localhost:${process.env.PORT || 3000}`, { transports: ['websocket'] });
socket.on('connect_error', ({ message, data }) => {
  console.log(data?.status ?? message);
  socket.disconnect();
});
socket.on('connect', async () => {
  for (let nth = 0; nth < Number(times); nth++) {
    const reply = await socket.emitWithAck('say', text);
    console.log(reply.status ?? reply);
  }
  socket.disconnect();
});
