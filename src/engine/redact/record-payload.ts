import { isSensitiveName } from '../../platform/security/sensitive-name.ts'

const BYTES_MAX = 256 * 1024
const PREVIEW_LENGTH = 2000
const DEPTH_MAX = 100
/** Shorter secrets would stand in every other word. */
const SECRET_LENGTH_MIN = 4
/** No character of JSON takes more bytes: `\u0000`. */
const BYTES_PER_CHARACTER = 6

const REDACTED = '[redacted]'

/**
 * What may be written down of a step's input or output: without what stands under the name of a secret, without the
 * given secrets wherever they stand, and cut where it is too long. Doing it twice changes nothing more.
 */
export function recordPayload(value: unknown, secrets: readonly string[]): unknown {
  const copied = new Redaction(secrets)
  const redacted = copied.of(value, 0)
  if (copied.characters * BYTES_PER_CHARACTER <= BYTES_MAX) return redacted
  const text = JSON.stringify(redacted) as string | undefined
  const bytes = Buffer.byteLength(text ?? '')
  if (text === undefined || bytes <= BYTES_MAX) return redacted
  return { $truncated: true, bytes, preview: text.slice(0, PREVIEW_LENGTH).toWellFormed() }
}

class Redaction {
  /** At least as many as the copy has, so that most need no measuring. */
  characters = 0
  readonly #secrets: string[]

  constructor(secrets: readonly string[]) {
    const spellings = secrets.filter(({ length }) => length >= SECRET_LENGTH_MIN).flatMap(spellingsOf)
    // One may be part of another: what is longer goes first.
    this.#secrets = [...new Set(spellings)].sort((a, b) => b.length - a.length)
  }

  of(value: unknown, depth: number): unknown {
    this.characters += 24
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'number') return this.#isSecret(String(value)) ? REDACTED : value
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (depth >= DEPTH_MAX) return { $truncated: true, preview: 'nested too deeply' }
    if (Array.isArray(value)) return value.map((item: unknown) => this.of(item, depth + 1))
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        this.#text(name),
        isSensitiveName(name) && isTelling(field) ? REDACTED : this.of(field, depth + 1),
      ]),
    )
  }

  #isSecret(text: string): boolean {
    return text.length >= SECRET_LENGTH_MIN && this.#secrets.includes(text)
  }

  #text(text: string): string {
    const clean = this.#secrets.reduce((left, secret) => left.replaceAll(secret, REDACTED), text)
    this.characters += clean.length
    return clean
  }
}

/** That there is none, or whether there is one, gives nothing away. */
function isTelling(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean'
}

/** As it is, and as it stands in a URL. */
function spellingsOf(secret: string): string[] {
  const form = new URLSearchParams({ s: secret }).toString().slice(2)
  return [secret, form, encodeURIComponent(secret.toWellFormed())]
}
