/** Reads a field of an unknown value; undefined if it has none or is no object. */
export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
