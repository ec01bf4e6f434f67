import { useSyncExternalStore } from 'react'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const listeners = new Set<() => void>()
/** Returns the time in ms. */
export function readNow(): number {
  return Date.now()
}

let nowMs = readNow()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    nowMs = readNow()
    listeners.forEach((notify) => notify())
  }, SECOND)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Returns the current time in ms, which changes every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs)
}

/** A duration in at most two units: `240 ms`, `3 min 20 s`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  const seconds = Math.round(ms / SECOND)
  const units: [string, number][] = [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ]
  const first = units.findIndex(([, size]) => seconds >= size)
  const [[unit, size], next] = [units[first] ?? ['s', 1], units[first + 1]]
  const whole = Math.floor(seconds / size)
  const rest = next ? Math.floor((seconds - whole * size) / next[1]) : 0
  return next && rest > 0 ? `${whole} ${unit} ${rest} ${next[0]}` : `${whole} ${unit}`
}

const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })

export function formatClock(at: Date | string): string {
  return CLOCK.format(new Date(at))
}

/** A time relative to now if it is near, with the exact time as its title. */
export function Time({ at }: { at: Date | string | null }) {
  const now = useNow()
  if (at === null) return <span className="muted">never</span>
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={EXACT.format(date)}>
      {toRelative(date.getTime() - now, date)}
    </time>
  )
}

function toRelative(differenceMs: number, date: Date): string {
  const distance = Math.abs(differenceMs)
  if (distance >= DAY) return DATE.format(date)
  if (distance < 5 * SECOND) return 'now'
  const [[unit, size]] = [distance < MINUTE ? ['s', SECOND] : distance < HOUR ? ['min', MINUTE] : ['h', HOUR]] as const
  const text = `${Math.floor(distance / Number(size))} ${unit}`
  return differenceMs < 0 ? `${text} ago` : `in ${text}`
}
