/** A timer that is later than this has waited for a process that was frozen. */
const LATE_MS = 100
/** The time in which such a process reads what has arrived meanwhile. */
const READ_MS = 1000

/**
 * Calls `expire` after `ms`, unless the function that it returns is called before. A process that was frozen reads the
 * answers in its sockets first: the event loop would run the timer before.
 */
export function startDeadline(ms: number, expire: () => void): () => void {
  const due = performance.now() + ms
  let timer = setTimeout(() => {
    if (performance.now() > due + LATE_MS) timer = setTimeout(expire, READ_MS)
    else expire()
  }, ms)
  return () => clearTimeout(timer)
}

/** Creates a signal that aborts after `ms`, as above, or with `outer`. Call `release` when the limited work is done. */
export function deadline(ms: number, outer?: AbortSignal): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  const abort = () => controller.abort()
  const stop = startDeadline(ms, abort)
  outer?.addEventListener('abort', abort, { once: true })
  if (outer?.aborted) abort()
  return {
    signal: controller.signal,
    release: () => {
      stop()
      outer?.removeEventListener('abort', abort)
    },
  }
}

/** Rejects if `work` takes longer than the deadline. The work itself goes on, and a later failure of it is ignored. */
export async function withinTime<T>(ms: number, work: Promise<T>): Promise<T> {
  const { signal, release } = deadline(ms)
  const expiry = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`No result within ${ms} ms`)), { once: true })
  })
  try {
    return await Promise.race([work, expiry])
  } finally {
    release()
  }
}
