/** Sorts the keys of objects at any depth, by name or by `compare`, so that equal JSON values have equal texts. */
export function sortKeys<T>(value: T, compare?: (a: string, b: string) => number): T
export function sortKeys(value: unknown, compare = compareNames): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => sortKeys(item, compare))
  if (typeof value !== 'object' || value === null) return value
  // Object.fromEntries defines its keys, so that one named __proto__ is a key like any other.
  const entries = Object.entries(value).map(([key, child]): [string, unknown] => [key, sortKeys(child, compare)])
  return Object.fromEntries(entries.sort(([a], [b]) => compare(a, b)))
}

export function compareNames(a: string, b: string): number {
  return a < b ? -1 : 1
}
