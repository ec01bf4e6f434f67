/** Values of definitions and of messages: nothing is certain about them but that they are JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the objects of a list; none if it is no list. */
export function toObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Returns a text, or undefined if it is none or empty. */
export function toText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function toObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}
