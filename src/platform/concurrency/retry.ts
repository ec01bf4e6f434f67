import { setTimeout as delay } from 'node:timers/promises'

type RetryOptions = {
  isRetryable: (error: unknown) => boolean
  /** Called before each repetition; false ends the retries. */
  mayContinue?: () => boolean
  attemptsMax: number
  /** Delay before the second attempt, by default none; it doubles up to `delayMaxMs`. */
  delayMs?: number
  delayMaxMs?: number
}

/** Repeats `work` while it fails with retryable errors, and rejects with the last error. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { isRetryable, mayContinue = () => true, attemptsMax, delayMs = 0, delayMaxMs = Infinity } = options
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isRetryable(error) || attempt >= attemptsMax) throw error
      if (delayMs > 0) await delay(Math.min(delayMs * 2 ** (attempt - 1), delayMaxMs))
      if (!mayContinue()) throw error
    }
  }
}
