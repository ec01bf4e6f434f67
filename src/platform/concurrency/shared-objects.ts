/** Objects of this process that several users share under a key, until one of them releases it. */
export class SharedObjects {
  readonly #objects = new Map<string, object>()

  /** Returns the object of a key; `create` makes it if there is none, and gets the function that releases it. */
  get(key: string, create: (release: () => void) => object): object {
    const existing = this.#objects.get(key)
    if (existing) return existing
    const object = create(() => {
      if (this.#objects.get(key) === object) this.#objects.delete(key)
    })
    this.#objects.set(key, object)
    return object
  }
}
