import type { Option } from './message.ts'

/** What the steps want done to the world; whoever does it reads these. Times are ISO 8601 texts. */
export type WorkflowEffect =
  | { type: 'send_message'; messageId: string; body: string; buttons: Option[] }
  | { type: 'add_tag'; tags: string[] }
  | { type: 'remove_tag'; tags: string[] }
  | { type: 'update_contact'; values: ContactChanges }
  /** Automation of the conversation pauses; until a time, or until somebody switches it on. */
  | { type: 'handoff'; reason: string | null; until: string | null }
  | { type: 'resume_automation' }

/** What is absent stays. `fields` is merged into the contact's own, null removes a field. */
export type ContactChanges = {
  name?: string
  email?: string | null
  language?: string | null
  timezone?: string | null
  fields?: Record<string, unknown>
}
