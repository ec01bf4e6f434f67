import { isDeepStrictEqual } from 'node:util'

export type DefinedFields<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Reads a field of an unknown value; undefined if it has none or is no object. */
export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Removes undefined fields, so that an update leaves their columns unchanged. Null is kept. */
export function definedFields<T extends object>(fields: T): DefinedFields<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<T>
}

/** Lists the fields of `updated` that have another value than in `previous`, as JSON; undefined ones are left out. */
export function listChanged(previous: object, updated: object): string[] {
  return Object.entries(updated).flatMap(([name, value]) =>
    value === undefined || isDeepStrictEqual(toJson(getField(previous, name)), toJson(value)) ? [] : [name],
  )
}

function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null))
}
