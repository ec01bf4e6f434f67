type Schema = Record<string, unknown>

/** `depth` definitions of which each refers to the next one twice: 2^depth checks of a value that does not match. */
export function doublingSchema(depth: number, base = '#'): Schema {
  const reference = (index: number) => ({ $ref: `${base}/$defs/d${index}` })
  const definitions = Array.from({ length: depth }, (_, index) => [
    `d${index}`,
    { anyOf: [reference(index + 1), reference(index + 1)] },
  ])
  const last = { anyOf: Array.from({ length: 12 }, () => ({ required: ['never'] })) }
  return { type: 'object', ...reference(0), $defs: { ...Object.fromEntries(definitions), [`d${depth}`]: last } }
}

/** Patterns of 300 characters that take some 0.3 s each to compile. */
export function patternSchema(count: number): Schema {
  const pattern = (index: number) => `(?:${'abcdefghij'.repeat(30)}${index}){1000}`
  const properties = Array.from({ length: count }, (_, index) => [
    `p${index}`,
    { type: 'string', pattern: pattern(index) },
  ])
  return { type: 'object', properties: Object.fromEntries(properties) }
}

export const endlessSchema: Schema = { type: 'object', allOf: [{ $ref: '#' }] }

/** Compares each two of the items: 112 million comparisons for 15,000 of them. */
export const UNIQUE_ITEMS: Schema = {
  type: 'object',
  properties: { items: { type: 'array', uniqueItems: true } },
}
