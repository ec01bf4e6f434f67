/** Makes the list of those that show a value kept outside of React, as `useSyncExternalStore` needs it. */
export function createListeners() {
  const listeners = new Set<() => void>()
  return {
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify: () => listeners.forEach((notify) => notify()),
  }
}
