/** The fields that were given: what is undefined is left out, so that it leaves a column as it is. */
export type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>
}
