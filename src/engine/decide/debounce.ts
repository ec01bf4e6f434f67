import { addMs, MINUTE } from '../../platform/time.ts'
import type { MessageFacts, RunState } from '../model/run.ts'

/** A burst that never ends is answered all the same. */
const COLLECTING_MS_MAX = MINUTE

/** Lets a queued run wait for what the customer may still be writing. */
export function startDebounce(run: RunState, now: Date, debounceMs: number): RunState {
  const until = addMs(now, debounceMs).toISOString()
  const latest = addMs(now, Math.max(COLLECTING_MS_MAX, debounceMs)).toISOString()
  return { ...run, epoch: run.epoch + 1, debouncing: { until, latest } }
}

/** Takes one more message into a run that collects: it reads them as one, the newest with the texts of all. */
export function appendMessage(run: RunState, message: MessageFacts, now: Date, debounceMs: number): RunState {
  const { debouncing, message: before } = run
  if (!debouncing) return run
  const bodies = [before?.body, message.body].filter((body) => typeof body === 'string' && body !== '')
  const until = addMs(now, debounceMs).toISOString()
  return {
    ...run,
    epoch: run.epoch + 1,
    message: { ...message, body: bodies.length > 0 ? bodies.join('\n') : null },
    debouncing: { ...debouncing, until: until < debouncing.latest ? until : debouncing.latest },
  }
}
