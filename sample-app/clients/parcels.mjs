// Asks the consumer for the parcels of a tenant: node sample-app/clients/parcels.mjs <tenant> <times>
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';

const [tenant = 'ada', times = '1'] = process.argv.slice(2);
const port = Number(process.env.MESSAGES_PORT || 3001);
const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
for (let nth = 0; nth < Number(times); nth++) {
  const reply = await lastValueFrom(client.send('parcels.find', { tenant })).catch((error) => error);
  console.log(reply.status ?? reply);
}
await client.close();
