import { useEffect, useRef } from 'react'

/** A key, such as `?` or `f`, or two in a row, such as `g r`. */
export type Shortcuts = Readonly<Record<string, () => void>>

/** Time in which the second of two keys follows. */
const SEQUENCE_MS = 1_000

/**
 * Calls functions for single keys while a component is shown. Keys do nothing while something is typed, in a dialog, and with
 * a modifier, which belongs to the browser.
 */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts)
  useEffect(() => {
    latest.current = shortcuts
  })
  useEffect(() => {
    let first = { key: '', atMs: 0 }
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const isSecond = event.timeStamp - first.atMs < SEQUENCE_MS
      const action = (isSecond ? latest.current[`${first.key} ${event.key}`] : undefined) ?? latest.current[event.key]
      first = { key: event.key, atMs: event.timeStamp }
      if (!action) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog, [contenteditable]') !== null
}
