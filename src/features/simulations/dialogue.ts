import type { DialogueEntry } from '../../engine/simulate/simulate.ts'
import type { Dialogue } from './schema.ts'
import { SECOND } from '../../platform/time.ts'

export function parseDialogue(dialogue: Dialogue): DialogueEntry[] {
  return dialogue.map((entry): DialogueEntry => {
    if (entry.type === 'advance') return { type: 'advance', afterMs: entry.by }
    const afterMs = entry.after ?? 0
    if (entry.type === 'message') {
      const { body, content } = entry
      return { type: 'message', body, afterMs, ...(content ? { message: { content } } : {}) }
    }
    return { type: 'event', event: { type: 'event', event: entry.event, data: entry.data ?? null }, afterMs }
  })
}

const SECONDS_MAX = 999_999

/** Converts a dialogue back to the form of a request, so that it can be stored and parsed by the same schema. */
export function formatDialogue(dialogue: Dialogue): Record<string, unknown>[] {
  return dialogue.map((entry) => {
    if (entry.type === 'advance') return { type: entry.type, by: formatDuration(entry.by) }
    const { after, ...rest } = entry
    return { ...rest, ...(after ? { after: formatDuration(after) } : {}) }
  })
}

/** Formats whole seconds, or whole minutes for long durations, rounded up. */
function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / SECOND)
  return seconds <= SECONDS_MAX ? `${seconds}s` : `${Math.ceil(seconds / 60)}m`
}
