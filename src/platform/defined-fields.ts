export type DefinedFields<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The fields that have a value, null included: what is undefined is left out, so that it leaves a column as it is. */
export function definedFields<T extends object>(fields: T): DefinedFields<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<T>
}
