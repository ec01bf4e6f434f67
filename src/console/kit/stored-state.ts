import { useState } from 'react'
import { readStored, store } from './storage.ts'

/** A text that outlives the page; empty at first. */
export function useStoredState(key: string): [string, (value: string) => void] {
  const [value, setValue] = useState(() => readStored(key) ?? '')
  const set = (changed: string) => {
    store(key, changed === '' ? null : changed)
    setValue(changed)
  }
  return [value, set]
}
