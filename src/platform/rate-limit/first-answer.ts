/** Calls the stores in order and returns the first result. A rejection is a result; only an error tries the next store. */
export async function firstAnswer<Store, Result>(
  stores: Store[],
  call: (store: Store) => Promise<Result>,
): Promise<Result> {
  let failure: unknown
  for (const store of stores) {
    try {
      return await call(store)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
