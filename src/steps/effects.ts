import { effectRegistry } from '../engine/model/effect.ts'
import type { FilledTemplate } from '../channels/templates/fill-template.ts'
import type { ButtonOption, ContentParts, MediaContent } from '../message-content/content.ts'

/** Fields of the effects, by type. Times are ISO 8601 texts. */
type EffectFields = {
  send_message: {
    messageId: string
    body: string | null
    buttons: ButtonOption[]
    media?: MediaContent
    content?: ContentParts
    /** ID of the message that it answers. */
    replyToId?: string
  }
  /** `replies` are the buttons to reply with. */
  send_template: { messageId: string; replies: ButtonOption[] } & FilledTemplate
  add_tag: { tags: string[] }
  remove_tag: { tags: string[] }
  update_contact: { values: ContactChanges }
  set_consent: { marketing?: 'opted_in' | 'opted_out'; service?: 'opted_in' | 'opted_out' }
  add_to_group: { groupId: string }
  remove_from_group: { groupId: string }
  /** A user who is no member is not assigned; a strategy chooses the member when the effect is applied. */
  assign: { to: AssignTo }
  add_note: { noteId: string; body: string }
  close_conversation: Record<never, never>
  /** Emits a custom event, for triggers and waits. */
  emit: { event: string; data: unknown }
  /** Pauses automation of the conversation until a time, or until somebody resumes it. */
  handoff: { reason: string | null; until: string | null }
  resume_automation: Record<never, never>
}

export type EffectType = keyof EffectFields

/** A change that a step requests; the execution feature applies it. */
export type WorkflowEffect<Type extends EffectType = EffectType> = {
  [Each in Type]: { type: Each } & EffectFields[Each]
}[Type]

export type AssignTo = { userId: string | null } | { strategy: 'round_robin' | 'least_open' }

/** An absent field stays as it is. `fields` is merged into the contact's own, and null removes a field. */
export type ContactChanges = {
  name?: string
  email?: string | null
  language?: string | null
  timezone?: string | null
  fields?: Record<string, unknown>
}

/** Effect types, with what the engine has to know of them. */
export const effectTypes = effectRegistry<WorkflowEffect>({
  send_message: {
    message: ({ messageId, body, buttons, content }) => ({
      id: messageId,
      body,
      buttons: content?.list?.options ?? buttons,
    }),
  },
  send_template: { message: ({ messageId, body, replies }) => ({ id: messageId, body, buttons: replies }) },
  add_tag: {},
  remove_tag: {},
  update_contact: {},
  set_consent: {},
  add_to_group: {},
  remove_from_group: {},
  assign: {},
  add_note: {},
  close_conversation: { resumesAutomation: true },
  emit: {},
  handoff: { pausesAutomation: ({ until }) => ({ until }) },
  resume_automation: { resumesAutomation: true },
})

export function isWorkflowEffect(effect: { type: string }): effect is WorkflowEffect {
  return effectTypes.has(effect.type)
}
