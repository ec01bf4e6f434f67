/** Replaces a secret in records and responses. */
export const REDACTED = '[redacted]'
/** Deeper values are no valid results anyway. */
const DEPTH_MAX = 100

/** Replaces secret texts, also as they are encoded in URLs and JSON, in every text and name of a value. */
export function redactTexts<T>(value: T, secrets: readonly string[]): T {
  const spellings = [...new Set(secrets.flatMap(listSpellings))].sort((a, b) => b.length - a.length)
  // Only the characters of texts change, so the type stays the same.
  return redact(value, spellings, 0) as T
}

function redact(value: unknown, secrets: readonly string[], depth: number): unknown {
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) return REDACTED
  if (Array.isArray(value)) return value.map((item: unknown) => redact(item, secrets, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [redact(name, secrets, depth + 1), redact(field, secrets, depth + 1)]),
  )
}

function listSpellings(secret: string): string[] {
  const form = new URLSearchParams({ s: secret }).toString().slice(2)
  return [secret, form, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]
}
