/** What the first of several stores says that is able to answer. A refusal is an answer; only an error asks the next. */
export async function firstAnswer<Store, Answer>(
  stores: Store[],
  ask: (store: Store) => Promise<Answer>,
): Promise<Answer> {
  let failure: unknown
  for (const store of stores) {
    try {
      return await ask(store)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
