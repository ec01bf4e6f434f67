import type { DialogueEntry } from '../../engine/simulate/simulate.ts'
import type { Dialogue } from './schema.ts'

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
