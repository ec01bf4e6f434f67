import { REDACTED } from '../../platform/security/redact-texts.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'

const BYTES_MAX = 256 * 1024
const PREVIEW_LENGTH = 2000
const DEPTH_MAX = 100
/** Shorter secrets would match parts of ordinary words. */
const SECRET_LENGTH_MIN = 4
/** No character of JSON takes more bytes: `\u0000`. */
const BYTES_PER_CHARACTER = 6

/**
 * Redacts a step's input or output for its record: values with sensitive names, all occurrences of the secrets, and
 * everything beyond the size limit. Idempotent.
 */
export function recordPayload(value: unknown, secrets: readonly string[], bytesMax = BYTES_MAX): unknown {
  const redaction = new Redaction(secrets)
  const redacted = redaction.redact(value, 0)
  if (redaction.characters * BYTES_PER_CHARACTER <= bytesMax) return redacted
  const text: string | undefined = JSON.stringify(redacted)
  const bytes = Buffer.byteLength(text ?? '')
  if (text === undefined || bytes <= bytesMax) return redacted
  return { $truncated: true, bytes, preview: text.slice(0, PREVIEW_LENGTH).toWellFormed() }
}

class Redaction {
  /** Upper bound of the copy's size, so that most copies need no measuring. */
  characters = 0
  readonly #secrets: string[]

  constructor(secrets: readonly string[]) {
    const spellings = secrets.filter(({ length }) => length >= SECRET_LENGTH_MIN).flatMap(listSpellings)
    // One secret may be part of another, so longer ones are replaced first.
    this.#secrets = [...new Set(spellings)].sort((a, b) => b.length - a.length)
  }

  redact(value: unknown, depth: number): unknown {
    this.characters += 24
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'number') return this.#isSecret(String(value)) ? REDACTED : value
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (depth >= DEPTH_MAX) return { $truncated: true, preview: 'nested too deeply' }
    if (Array.isArray(value)) return value.map((item: unknown) => this.redact(item, depth + 1))
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        this.#text(name),
        isSensitiveName(name) && isRevealing(field) ? REDACTED : this.redact(field, depth + 1),
      ]),
    )
  }

  #isSecret(text: string): boolean {
    return text.length >= SECRET_LENGTH_MIN && this.#secrets.includes(text)
  }

  #text(text: string): string {
    const clean = this.#secrets.reduce((remaining, secret) => remaining.replaceAll(secret, REDACTED), text)
    this.characters += clean.length
    return clean
  }
}

/** An absent value and a boolean reveal nothing. */
function isRevealing(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean'
}

/** Lists a secret as it is and as it is encoded in a URL. */
function listSpellings(secret: string): string[] {
  const form = new URLSearchParams({ s: secret }).toString().slice(2)
  return [secret, form, encodeURIComponent(secret.toWellFormed())]
}
