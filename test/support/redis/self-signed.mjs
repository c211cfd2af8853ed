import { generateKeyPairSync, sign } from 'node:crypto';

const ECDSA_WITH_SHA256 = sequence(objectId('2a8648ce3d040302'));
const COMMON_NAME = objectId('550403');
const SUBJECT_ALT_NAME = objectId('551d11');

/**
 * Creates a self-signed certificate for 127.0.0.1 and localhost, with a new key. Encoded in DER here (RFC 5280),
 * because Node creates keys but no certificates, and openssl may be missing.
 *
 * @returns {{ certificate: string, key: string }} in PEM
 */
export function selfSigned() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const localhost = Buffer.from('localhost');
  const name = sequence(tagged(0x31, sequence(COMMON_NAME, tagged(0x0c, localhost))));
  const alsoKnownAs = sequence(tagged(0x82, localhost), tagged(0x87, Buffer.from([127, 0, 0, 1])));
  const statement = sequence(
    tagged(0xa0, integer(2)), // Version 3.
    integer(1),
    ECDSA_WITH_SHA256,
    name,
    sequence(utcTime('200101000000Z'), utcTime('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(SUBJECT_ALT_NAME, tagged(0x04, alsoKnownAs)))),
  );
  const signature = tagged(0x03, Buffer.from([0]), sign('sha256', statement, privateKey));
  const certificate = sequence(statement, ECDSA_WITH_SHA256, signature);
  return { certificate: pem(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

function tagged(tag, ...parts) {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts) {
  return tagged(0x30, ...parts);
}

function integer(value) {
  return tagged(0x02, Buffer.from([value]));
}

function objectId(hex) {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

function utcTime(text) {
  return tagged(0x17, Buffer.from(text));
}

function pem(der) {
  const lines = der.toString('base64').match(/.{1,64}/g);
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
