import { TooLargeError } from '../platform/errors.ts'
import { FairSemaphore } from '../platform/concurrency/fair-semaphore.ts'
import { getField } from '../platform/fields.ts'
import { SECOND } from '../platform/time.ts'

/** Bytes of the answers of one batch together. They are written as one text, during which the process serves nobody else. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024
/** Queries of a batch that are at work at once. The results of all of them, if they are large, would arrive together. */
const WIDTH = 2
const WAIT_MAX_MS = 30 * SECOND

/** Bounds what the queries of one batch cost. */
export class BatchBudget {
  readonly #slots = new FairSemaphore({ width: WIDTH, widthPerKey: WIDTH, waitMaxMs: WAIT_MAX_MS })
  #bytes = 0
  #isFull = false

  /**
   * Executes a query of the batch and counts its answer. The first answer may have any size, as it has alone.
   * @throws TooLargeError `batch_too_large` if there is no room for the answer, or was none for an earlier one
   */
  async run<R extends { ok: boolean }>(query: () => Promise<R>, signal: AbortSignal | undefined): Promise<R> {
    await this.#slots.acquire(null, signal)
    try {
      if (this.#isFull) throw tooLargeError()
      const result = await query()
      if (result.ok) this.#add(getField(result, 'data'))
      return result
    } finally {
      // Other requests are served before the next query.
      setImmediate(() => this.#slots.release(null))
    }
  }

  #add(answer: unknown): void {
    const bytes = this.#bytes + Buffer.byteLength(JSON.stringify(answer) ?? '')
    this.#isFull = this.#bytes > 0 && bytes > BATCH_BYTES_MAX
    if (this.#isFull) throw tooLargeError()
    this.#bytes = bytes
  }
}

function tooLargeError(): TooLargeError {
  return new TooLargeError(
    'batch_too_large',
    'The answers of this batch have more than 8 MB together. Repeat this call in another batch, or read smaller pages',
  )
}
