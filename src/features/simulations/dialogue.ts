import type { DialogueEntry } from '../../engine/simulate/simulate.ts'
import { SECOND } from '../../platform/time.ts'
import type { Dialogue } from './schema.ts'

const SECONDS_MAX = 999_999

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

/** A dialogue as it would be asked for: it is kept so, and read again by the same schema. */
export function formatDialogue(dialogue: Dialogue): Record<string, unknown>[] {
  return dialogue.map((entry) => {
    if (entry.type === 'advance') return { type: entry.type, by: writeDuration(entry.by) }
    const { after, ...rest } = entry
    return { ...rest, ...(after ? { after: writeDuration(after) } : {}) }
  })
}

/** Whole seconds, or whole minutes where there are very many: never shorter than it was. */
function writeDuration(ms: number): string {
  const seconds = Math.ceil(ms / SECOND)
  return seconds <= SECONDS_MAX ? `${seconds}s` : `${Math.ceil(seconds / 60)}m`
}
