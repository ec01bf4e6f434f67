/** A signal that fires after so long, or with another; `release` it when what it limits is done. */
export function deadline(ms: number, outer?: AbortSignal): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  const end = () => controller.abort()
  const timer = setTimeout(end, ms)
  outer?.addEventListener('abort', end, { once: true })
  if (outer?.aborted) end()
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer)
      outer?.removeEventListener('abort', end)
    },
  }
}
