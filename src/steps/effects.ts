import type { Media } from './messages/media.ts'
import type { ButtonOption } from './messages/message.ts'

/** What the steps want done to the world; whoever does it reads these. Times are ISO 8601 texts. */
export type WorkflowEffect =
  | { type: 'send_message'; messageId: string; body: string | null; buttons: ButtonOption[]; media?: Media }
  | { type: 'add_tag'; tags: string[] }
  | { type: 'remove_tag'; tags: string[] }
  | { type: 'update_contact'; values: ContactChanges }
  | { type: 'set_consent'; marketing: 'opted_in' | 'opted_out' }
  | { type: 'add_to_group' | 'remove_from_group'; groupId: string }
  /** Who is no member is not assigned; a strategy finds whom when it is applied. */
  | { type: 'assign'; to: AssignTo }
  | { type: 'add_note'; noteId: string; body: string }
  | { type: 'close_conversation' }
  /** An event of the workspace's own, for triggers and waits. */
  | { type: 'emit'; event: string; data: unknown }
  /** Automation of the conversation pauses; until a time, or until somebody switches it on. */
  | { type: 'handoff'; reason: string | null; until: string | null }
  | { type: 'resume_automation' }

export type AssignTo = { userId: string | null } | { strategy: 'round_robin' | 'least_open' }

/** What is absent stays. `fields` is merged into the contact's own, null removes a field. */
export type ContactChanges = {
  name?: string
  email?: string | null
  language?: string | null
  timezone?: string | null
  fields?: Record<string, unknown>
}
