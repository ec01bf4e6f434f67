import { addMs, MINUTE } from '../../platform/time.ts'
import type { MessageFacts, RunState } from '../model/run.ts'

/** Longest delay, so that an endless burst of messages is answered too. */
const DEBOUNCE_MS_MAX = MINUTE

/** Delays the start of a queued run, because the customer may still be writing. */
export function startDebounce(run: RunState, now: Date, debounceMs: number): RunState {
  const until = addMs(now, debounceMs).toISOString()
  const latest = addMs(now, Math.max(DEBOUNCE_MS_MAX, debounceMs)).toISOString()
  return { ...run, epoch: run.epoch + 1, debouncing: { until, latest } }
}

/** Appends a message to a debouncing run, which reads them all as one: the newest message with the texts of all. */
export function appendMessage(run: RunState, message: MessageFacts, now: Date, debounceMs: number): RunState {
  const { debouncing, message: previous } = run
  if (!debouncing) return run
  const bodies = [previous?.body, message.body].filter((body) => typeof body === 'string' && body !== '')
  const until = addMs(now, debounceMs).toISOString()
  return {
    ...run,
    epoch: run.epoch + 1,
    message: { ...message, body: bodies.length > 0 ? bodies.join('\n') : null },
    debouncing: { ...debouncing, until: until < debouncing.latest ? until : debouncing.latest },
  }
}
