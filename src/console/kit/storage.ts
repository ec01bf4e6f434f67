let isClosed = false

/** Returns a text that outlives the page. A browser may forbid the storage, which then throws at any access. */
export function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** Stores a text; null removes it. */
export function store(key: string, text: string | null): void {
  if (isClosed) return
  try {
    if (text === null) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {
    // The text is still in the page.
  }
}

/** Removes all texts whose key matches. Until the page is loaded again it stores nothing, such as the end of a request. */
export function forgetStored(pattern: RegExp): void {
  isClosed = true
  try {
    for (const key of Object.keys(localStorage)) if (pattern.test(key)) localStorage.removeItem(key)
  } catch {
    // Nothing is stored.
  }
}
