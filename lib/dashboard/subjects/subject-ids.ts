import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Returns an id for a subject of a rule: the encrypted subject, the same in every process with the secret. It can be
 * read only with the secret, and only for this rule.
 */
export function subjectId(secret: string, rule: string, subject: string): string {
  const nonce = mac(secret, `nonce ${JSON.stringify([rule, subject])}`).subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, mac(secret, 'key'), nonce).setAAD(Buffer.from(rule));
  const encrypted = Buffer.concat([cipher.update(subject, 'utf16le'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url');
}

/** Returns the subject of an id; `undefined` if the id is not one of this secret and rule. */
export function subjectOfId(secret: string, rule: string, id: string): string | undefined {
  const bytes = Buffer.from(id, 'base64url');
  const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)];
  if (tag.length < TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv(CIPHER, mac(secret, 'key'), nonce);
    decipher.setAAD(Buffer.from(rule)).setAuthTag(tag);
    const encrypted = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf16le');
  } catch {
    return undefined;
  }
}

function mac(secret: string, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest();
}
