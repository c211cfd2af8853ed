import { createCipheriv, randomBytes, type Cipher } from 'node:crypto';

const BLOCK = 16;
/** Ids that are encrypted in one call. */
const BATCH = 64;
/** The bytes of an id: of its number, encrypted, and of the proof that the process has written it. */
const [NUMBER_BYTES, ID_BYTES] = [5, 9];

/** Encrypts single blocks. */
function cipherOf(key: Buffer): Cipher {
  return createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
}

/** Returns the second half of ids: their first half, encrypted again. */
function proofsOf(cipher: Cipher, blocks: Buffer): Buffer {
  for (let at = 0; at < blocks.length; at += BLOCK) blocks.fill(1, at + NUMBER_BYTES, at + BLOCK);
  return cipher.update(blocks);
}

/**
 * The ids of the denials of this process: numbers, encrypted with a random key, so that a client learns nothing from them.
 * Another process recognises an id by the key of the process that wrote it.
 */
class DenialIds {
  /** The key of this process. */
  readonly key = randomBytes(BLOCK);
  private cipher: Cipher | undefined;
  private last = 0;
  private batch = -1;
  private ids = Buffer.alloc(0);

  /** Returns the number of another denial. */
  next(): number {
    return (this.last += 1);
  }

  /** Returns the id of a number: 12 characters. */
  of(number: number): string {
    const batch = Math.floor(number / BATCH);
    if (batch !== this.batch) this.encrypt(batch);
    const at = (number % BATCH) * BLOCK;
    return this.ids.toString('base64url', at, at + ID_BYTES);
  }

  private encrypt(batch: number): void {
    const numbers = Buffer.alloc(BATCH * BLOCK);
    for (let nth = 0; nth < BATCH; nth += 1) numbers.writeUIntBE(batch * BATCH + nth, nth * BLOCK, 6);
    const cipher = (this.cipher ??= cipherOf(this.key));
    this.ids = cipher.update(numbers);
    const proofs = proofsOf(cipher, this.ids);
    for (let at = 0; at < proofs.length; at += BLOCK)
      proofs.copy(this.ids, at + NUMBER_BYTES, at, at + ID_BYTES - NUMBER_BYTES);
    this.batch = batch;
  }
}

export const denialIds = new DenialIds();

/** Whether the process with a key has written an id. */
export function hasWritten(key: Buffer, id: string): boolean {
  const given = Buffer.from(id, 'base64url');
  if (given.length !== ID_BYTES || key.length !== BLOCK) return false;
  const block = Buffer.alloc(BLOCK);
  given.copy(block, 0, 0, NUMBER_BYTES);
  const proof = proofsOf(cipherOf(key), block);
  return given.subarray(NUMBER_BYTES).equals(proof.subarray(0, ID_BYTES - NUMBER_BYTES));
}
