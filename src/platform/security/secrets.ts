import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { equalsTimingSafe } from './tokens.ts'

const VERSION = 1
const HEADER_BYTES = 1 + 4
const IV_BYTES = 12
const TAG_BYTES = 16

type Key = { bytes: Buffer; id: Buffer }

function toKey(hex: string): Key {
  const bytes = Buffer.from(hex, 'hex')
  if (bytes.length !== 32) throw new RangeError('A secret key must be 32 bytes in hexadecimal')
  return { bytes, id: createHash('sha256').update(bytes).digest().subarray(0, 4) }
}

/**
 * Encrypts secrets that are stored in the database, with the first key, and decrypts them with any. Layout: version, key id
 * (4 bytes of the key's hash), IV, tag, ciphertext. `context` (tenant and row id) is authenticated: a value moved to another
 * row cannot be decrypted.
 */
export class Secrets {
  readonly #key: Key
  readonly #keys: readonly Key[]

  constructor([first, ...others]: readonly [string, ...string[]]) {
    this.#key = toKey(first)
    this.#keys = [this.#key, ...others.map(toKey)]
  }

  /** The bytes that begin what the first key seals. */
  get header(): Buffer {
    return Buffer.concat([Buffer.from([VERSION]), this.#key.id])
  }

  seal(plain: unknown, context: string): Buffer {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key.bytes, iv).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(plain), 'utf8'), cipher.final()])
    return Buffer.concat([this.header, iv, cipher.getAuthTag(), sealed])
  }

  /** Returns a code that proves that this installation made the text, for one purpose. */
  authenticate(text: string, purpose: string): string {
    return toCode(this.#key, text, purpose)
  }

  /** Returns the codes that any of the keys makes, the present one first. */
  listCodes(text: string, purpose: string): string[] {
    return this.#keys.map((key) => toCode(key, text, purpose))
  }

  /** Returns true if a code of `authenticate` was made with any of the keys, of which only `length` characters may be left. */
  isAuthentic(code: string, { text, purpose, length }: { text: string; purpose: string; length?: number }): boolean {
    const codes = this.listCodes(text, purpose).map((each) => equalsTimingSafe(code, each.slice(0, length)))
    return codes.includes(true)
  }

  /** Decrypts a value. Throws if its key is none of these, or the value was changed or belongs to another row. */
  open(sealed: Buffer, context: string): unknown {
    const id = sealed.subarray(1, HEADER_BYTES)
    const key = sealed[0] === VERSION ? this.#keys.find((each) => each.id.equals(id)) : undefined
    if (!key) {
      throw new Error(
        'A stored secret was encrypted with a key that is not in SECRET_KEYS or SECRET_KEY. Add that key, or enter the secret again',
      )
    }
    const iv = sealed.subarray(HEADER_BYTES, HEADER_BYTES + IV_BYTES)
    const tag = sealed.subarray(HEADER_BYTES + IV_BYTES, HEADER_BYTES + IV_BYTES + TAG_BYTES)
    const body = sealed.subarray(HEADER_BYTES + IV_BYTES + TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(context)).setAuthTag(tag)
    return JSON.parse(Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8'))
  }
}

function toCode(key: Key, text: string, purpose: string): string {
  return createHmac('sha256', key.bytes).update(`${purpose}\n${text}`).digest('base64url')
}
