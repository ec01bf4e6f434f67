import { isLockTimeout } from '../../platform/database/database.ts'

/** Time that the items of one key wait for a lock, after their batch has waited as long as its connection allows. */
const KEY_LOCK_MS = 100

type Options<Item> = {
  /** Items of one key need the same locks, and are stored together or not at all, so that they stay in order. */
  toKey: (item: Item) => string
  store: (items: Item[], lockTimeoutMs?: number) => Promise<unknown>
}

/**
 * Stores items in one transaction or, if another one holds a lock for too long, in one per key. Returns the items whose
 * lock was not available.
 */
export async function storeUnlocked<Item>(items: Item[], { toKey, store }: Options<Item>): Promise<Set<Item>> {
  if (!(await isLocked(store(items)))) return new Set()
  const byKey = new Map<string, Item[]>()
  for (const item of items) byKey.set(toKey(item), [...(byKey.get(toKey(item)) ?? []), item])
  if (byKey.size === 1) return new Set(items)
  const locked = new Set<Item>()
  for (const group of byKey.values()) {
    if (await isLocked(store(group, KEY_LOCK_MS))) for (const item of group) locked.add(item)
  }
  return locked
}

async function isLocked(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return false
  } catch (error) {
    if (isLockTimeout(error)) return true
    throw error
  }
}
