import { isSensitiveName } from './sensitive-name.ts'

/** Names of authentication schemes, which may precede a placeholder. */
const SCHEME = /^(?:basic|bearer|digest|token|apikey)\s/i
const PLACEHOLDER = /\{\{([\s\S]*?)\}\}/g
/** A quoted text inside a placeholder, such as the default of a variable. */
const QUOTED = /"[^"]{4,}"|'[^']{4,}'/

/** Returns true if a text contains anything beside placeholders and the name of an authentication scheme. */
export function isLiteral(text: string): boolean {
  const placeholders = [...text.matchAll(PLACEHOLDER)].map(([, expression = '']) => expression)
  if (placeholders.some((expression) => QUOTED.test(expression))) return true
  return /[\p{L}\p{N}]/u.test(text.replace(SCHEME, '').replaceAll(PLACEHOLDER, ''))
}

/** Lists the names of secret headers or parameters with a literal value. */
export function listLiteralSecrets(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    isSensitiveName(name) && [value].flat().some((one) => isLiteral(toLiteral(one))) ? [name] : [],
  )
}

/** Lists the names of secret parameters that a URL, which may contain placeholders, has with a literal value. */
export function listLiteralParameters(url: string): string[] {
  const [, query = ''] = url.split(/[?#]/, 2)
  const pairs = query.split('&').map((pair): [string, string] => {
    const at = pair.indexOf('=')
    return at < 0 ? [pair, ''] : [decode(pair.slice(0, at)), pair.slice(at + 1)]
  })
  return pairs.flatMap(([name, value]) => listLiteralSecrets({ [name]: value }))
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
