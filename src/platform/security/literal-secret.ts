import { isSensitiveName } from './sensitive-name.ts'

/** Names of authentication schemes, which may precede a placeholder. */
const SCHEME = /^(?:basic|bearer|digest|token|apikey)\s/i
/** A quoted text inside a placeholder, such as the default of a variable. */
const QUOTED = /"[^"]{4,}"|'[^']{4,}'/

/**
 * Secrets of well-known services, whatever the name of their header or parameter. Repetitions are bounded, so that the
 * work grows with the length of the text only.
 */
const KNOWN =
  /\b(?:[sr]k_(?:live|test)_\w{8}|sk-[\w-]{20}|AIza[\w-]{30}|gh[opsur]_\w{20}|github_pat_\w{20}|glpat-[\w-]{16}|xox[abeprs]-[\w-]{10}|AKIA[A-Z\d]{16}|EAA[A-Za-z\d]{24}|SG\.[\w-]{16,32}\.|eyJ[\w-]{8,200}\.eyJ)/
/** Names that are those of secrets if their values look random. */
const KEY_NAME = /key$|^(?:access|sig|sign|xaccess|proxyauth|xproxyauth)$/
const KEYS_OF_REQUESTS = new Set(['idempotencykey', 'xidempotencykey', 'sortkey', 'orderkey', 'cachekey'])
const RANDOM = /^(?=\D*\d)(?=[^a-z]*[a-z])[\w.~+/=%-]{16,}$/i

/** Returns true if a text contains anything beside placeholders and the name of an authentication scheme. */
export function isLiteral(text: string): boolean {
  const { outside, expressions } = splitPlaceholders(text.replace(SCHEME, ''))
  return expressions.some((expression) => QUOTED.test(expression)) || /[\p{L}\p{N}]/u.test(outside)
}

/** Splits a text in linear time, which a pattern needs the square of if many placeholders have no end. */
function splitPlaceholders(text: string): { outside: string; expressions: string[] } {
  const expressions: string[] = []
  let outside = ''
  for (let from = 0; ;) {
    const start = text.indexOf('{{', from)
    const end = start < 0 ? -1 : text.indexOf('}}', start + 2)
    if (end < 0) return { outside: outside + text.slice(from), expressions }
    outside += text.slice(from, start)
    expressions.push(text.slice(start + 2, end))
    from = end + 2
  }
}

/** Lists the names of headers or parameters whose values are literal secrets, by their names or by the values. */
export function listLiteralSecrets(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).some((one) => isLiteralSecret(name, toLiteral(one))) ? [name] : [],
  )
}

function isLiteralSecret(name: string, text: string): boolean {
  if (text === '') return false
  if (isSensitiveName(name)) return isLiteral(text)
  return KNOWN.test(text) || (isRandom(text) && isKeyName(name))
}

/**
 * Finds a text in JSON that is probably a secret, and returns its path. Data have names of secrets also for invented values,
 * so the value decides: it has the form of a well-known service, or looks random and has the name of a secret.
 */
export function findSecretValue(value: unknown, path = '', name = ''): string | undefined {
  if (typeof value === 'string') return isSecretValue(name, value) ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, child] of Object.entries(value)) {
    const childPath = path === '' ? key : `${path}.${key}`
    const found = findSecretValue(child, childPath, Array.isArray(value) ? name : key)
    if (found !== undefined) return found
  }
  return undefined
}

function isSecretValue(name: string, text: string): boolean {
  return KNOWN.test(text) || (isRandom(text) && isSensitiveName(name))
}

function isRandom(text: string): boolean {
  return RANDOM.test(text.trim().replace(SCHEME, ''))
}

function isKeyName(name: string): boolean {
  const word = name.toLowerCase().replaceAll(/[^a-z\d]/g, '')
  return KEY_NAME.test(word) && !KEYS_OF_REQUESTS.has(word)
}

/** Lists the names of secret parameters that a URL, which may contain placeholders, has with a literal value. */
export function listLiteralParameters(url: string): string[] {
  const [, query = ''] = url.split(/[?#]/, 2)
  const pairs = query.split('&').map((pair): [string, string] => {
    const at = pair.indexOf('=')
    return at < 0 ? [pair, ''] : [decode(pair.slice(0, at)), pair.slice(at + 1)]
  })
  return pairs.flatMap(([name, value]) => (isLiteralSecret(name, value) ? [name] : []))
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** Decodes ASCII, of which the names of secrets consist. Texts that are not encoded well are no error. */
function decode(text: string): string {
  return text.replaceAll(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
