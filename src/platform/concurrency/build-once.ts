/** Returns a function that builds a value on the first call. A build that fails is repeated on the next call. */
export function buildOnce<T>(build: () => Promise<T>): () => Promise<T> {
  let built: Promise<T> | undefined
  return () => {
    built ??= build().catch((error: unknown) => {
      built = undefined
      throw error
    })
    return built
  }
}
