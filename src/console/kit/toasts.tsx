import { type ReactNode, useSyncExternalStore } from 'react'
import { createListeners } from './listeners.ts'

const SHOWN_MS = 6_000

let toasts: { id: number; content: ReactNode }[] = []
let nextId = 1
const { subscribe, notify } = createListeners()

function set(changed: typeof toasts): void {
  toasts = changed
  notify()
}

/** Shows a short message for some seconds. */
export function toast(content: ReactNode): void {
  const id = nextId++
  set([...toasts.slice(-2), { id, content }])
  setTimeout(() => set(toasts.filter((other) => other.id !== id)), SHOWN_MS)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status">
      {shown.map(({ id, content }) => (
        <div key={id}>{content}</div>
      ))}
    </div>
  )
}
