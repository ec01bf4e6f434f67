/** Items that subscribers make of an event, made once for all that follow the same thing. They live as long as the event. */
export class EventItems<T> {
  readonly #items = new WeakMap<object, Map<string, Promise<T>>>()

  get(event: object, key: string, make: () => Promise<T>): Promise<T> {
    const items = this.#items.get(event) ?? new Map<string, Promise<T>>()
    this.#items.set(event, items)
    const existing = items.get(key)
    if (existing) return existing
    const item = make()
    items.set(key, item)
    // A subscriber that connects again after the failure tries again.
    item.catch(() => items.delete(key))
    return item
  }
}
