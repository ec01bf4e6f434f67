export type DefinedFields<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Removes undefined fields, so that an update leaves their columns unchanged. Null is kept. */
export function definedFields<T extends object>(fields: T): DefinedFields<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as DefinedFields<T>
}
