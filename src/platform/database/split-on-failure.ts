import { isContention, isGeneralOutage } from './database.ts'

/** Options of the transaction of a part: none for that of all items, and a short wait for locks for those after it. */
type PartOptions = { lockTimeoutMs?: number }

type Options<Item> = {
  /** Items of one key are stored in their order. They are the last to be separated. */
  toKey: (item: Item) => string
  /** Executes a transaction for a part of the items. */
  run: (part: Item[], options: PartOptions) => Promise<unknown>
}

/** Long enough for transactions that are not frozen; their holders are waited for once, by the first attempt. */
const LOCK_TIMEOUT_MS = 100

/**
 * Executes work on items in one transaction and, if it fails, in one for each half of them, so that a few bad items of many
 * cost few transactions. Returns the items that failed alone, with their errors. All items of a key fail if
 * one of their locks is not available, and all that is left fails in an outage.
 */
export async function splitOnFailure<Item>(items: Item[], { toKey, run }: Options<Item>): Promise<Map<Item, unknown>> {
  const failures = new Map<Item, unknown>()
  let waiting = items.length === 0 ? [] : [items]
  let isFirst = true
  for (let part = waiting.shift(); part; part = waiting.shift()) {
    try {
      await run(part, isFirst ? {} : { lockTimeoutMs: LOCK_TIMEOUT_MS })
    } catch (error) {
      isFirst = false
      const isOver = isGeneralOutage(error)
      const smaller = isOver ? [] : split(part, toKey, error)
      const failed = isOver ? [part, ...waiting].flat() : smaller.length === 0 ? part : []
      for (const item of failed) failures.set(item, error)
      waiting = isOver ? [] : [...smaller, ...waiting]
    }
  }
  return failures
}

/** Returns the smaller parts of one that has failed, in the order of the items; none if it is not to be tried again. */
function split<Item>(part: Item[], toKey: (item: Item) => string, error: unknown): Item[][] {
  const keys = [...new Set(part.map(toKey))]
  if (keys.length === 1) return part.length === 1 || isContention(error) ? [] : part.map((item) => [item])
  const first = new Set(keys.slice(0, Math.ceil(keys.length / 2)))
  return [part.filter((item) => first.has(toKey(item))), part.filter((item) => !first.has(toKey(item)))]
}
