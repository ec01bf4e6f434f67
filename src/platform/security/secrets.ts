import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder } from '../create-folder.ts'
import { getField } from '../fields.ts'

const VERSION = 1
const HEADER_BYTES = 1 + 4
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts secrets that are stored in the database. Layout: version, key id (4 bytes of the key's hash), IV, tag,
 * ciphertext. `context` (tenant and row id) is authenticated: a value moved to another row cannot be decrypted.
 */
export class Secrets {
  readonly #key: Buffer
  readonly #keyId: Buffer

  constructor(keyHex: string) {
    this.#key = Buffer.from(keyHex, 'hex')
    if (this.#key.length !== 32) throw new RangeError('The secret key must be 32 bytes in hexadecimal')
    this.#keyId = createHash('sha256').update(this.#key).digest().subarray(0, 4)
  }

  seal(plain: unknown, context: string): Buffer {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(plain), 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.from([VERSION]), this.#keyId, iv, cipher.getAuthTag(), sealed])
  }

  /** Returns a code that proves that this installation made the text, for one purpose. */
  authenticate(text: string, purpose: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('base64url')
  }

  /** Decrypts a value. Throws if the key is another one, or the value was changed or belongs to another row. */
  open(sealed: Buffer, context: string): unknown {
    if (sealed[0] !== VERSION || !sealed.subarray(1, HEADER_BYTES).equals(this.#keyId)) {
      throw new Error(
        'A stored secret was encrypted with another SECRET_KEY. Restore that key, or enter the secret again',
      )
    }
    const iv = sealed.subarray(HEADER_BYTES, HEADER_BYTES + IV_BYTES)
    const tag = sealed.subarray(HEADER_BYTES + IV_BYTES, HEADER_BYTES + IV_BYTES + TAG_BYTES)
    const body = sealed.subarray(HEADER_BYTES + IV_BYTES + TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(context)).setAuthTag(tag)
    return JSON.parse(Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8'))
  }
}

/** Reads the key in `dataDir`, which the first process creates. */
export async function loadOrCreateSecretKey(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret-key')
  await createFolder(dataDir)
  try {
    await writeFile(path, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (getField(error, 'code') !== 'EEXIST') throw error
  }
  return readSecretKey(dataDir)
}

export async function readSecretKey(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'secret-key'), 'utf8')).trim()
}
