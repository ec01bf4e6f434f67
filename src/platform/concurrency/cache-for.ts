/** Returns a function that shares each result of `read`, and a read in progress, for `ms` after the read began. */
export function cacheFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let latest: { value: Promise<T>; at: number } | undefined
  return () => {
    const at = performance.now()
    if (!latest || at - latest.at >= ms) latest = { value: read(), at }
    return latest.value
  }
}
