import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { useShortcuts } from './shortcuts.ts'

/**
 * Lets `j` and `k` mark a row of a list and Enter open its page. Returns the position of the marked row; -1 without one. The
 * rows have the attribute `data-row` with their position, so that the marked one is kept in view.
 */
export function useRows(paths: readonly string[]): number {
  const [, go] = useLocation()
  const [marked, setMarked] = useState(-1)
  const current = Math.min(marked, paths.length - 1)
  useShortcuts({
    j: () => setMarked(Math.min(current + 1, paths.length - 1)),
    k: () => setMarked(Math.max(current - 1, 0)),
    Enter: () => {
      // Enter on a link or a button is meant for that.
      const focused = document.activeElement
      const path = paths[current]
      if (focused instanceof HTMLElement && focused.matches('a, button')) focused.click()
      else if (path !== undefined) go(path)
    },
  })
  useEffect(() => {
    document.querySelector(`[data-row="${current}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [current])
  return current
}
