import type { Subject } from '../../engine/model/subject.ts'
import type { HandledKeyword, SimulatedWorld } from '../../engine/simulate/simulated-world.ts'
import { isWorkflowEffect, type ContactChanges } from '../../steps/effects.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { composeConfirmation, findConsentKeyword, type KeywordSettings } from '../consent/keywords.ts'
import { windowExpiryFrom } from '../conversations/service-window.ts'

/** The conversation of a simulation: its messages open the service window, and its effects emit events. */
export const simulatedConversation: Omit<SimulatedWorld, 'callExternal'> = {
  toMessageEvent({ conversation }, isFirst): WorkflowEvent {
    return { type: 'message_received', channelId: String(conversation?.['channelId'] ?? ''), isFirst }
  },
  afterMessage(subject, now) {
    const window = { lastInboundAt: now.toISOString(), windowExpiresAt: windowExpiryFrom(now).toISOString() }
    return { ...subject, conversation: { ...subject.conversation, ...window } }
  },
  subjectAt(subject, now) {
    const { conversation } = subject
    const expiresAt = conversation?.['windowExpiresAt']
    if (!conversation || typeof expiresAt !== 'string') return subject
    return { ...subject, conversation: { ...conversation, canSendFreeform: now.getTime() < Date.parse(expiresAt) } }
  },
  listEvents(effect): WorkflowEvent[] {
    if (!isWorkflowEffect(effect)) return []
    switch (effect.type) {
      case 'add_tag':
        return effect.tags.map((tag) => ({ type: 'tag_added', tag }))
      case 'remove_tag':
        return effect.tags.map((tag) => ({ type: 'tag_removed', tag }))
      case 'set_consent':
        return [{ type: 'contact_updated', fields: ['consent'] }]
      case 'update_contact':
        return [{ type: 'contact_updated', fields: listChanged(effect.values) }]
      case 'add_to_group':
        return [{ type: 'group_joined', groupId: effect.groupId }]
      case 'remove_from_group':
        return [{ type: 'group_left', groupId: effect.groupId }]
      case 'close_conversation':
        return [{ type: 'conversation_closed' }]
      case 'emit':
        return [{ type: 'event', event: effect.event, data: effect.data ?? null }]
      default:
        return []
    }
  },
}

/** Lists the changed fields, assuming that every value differs from the existing one. */
function listChanged({ fields, ...details }: ContactChanges): string[] {
  return [...Object.keys(details), ...Object.keys(fields ?? {}).map((key) => `fields.${key}`)]
}

/** Changes the consent of the simulated contact like a live message would. */
export function handleKeyword(
  settings: KeywordSettings,
  subject: Subject,
  body: string | null,
): HandledKeyword | undefined {
  const found = subject.contact && findConsentKeyword(settings, body)
  if (!found) return undefined
  const { contact, isBlocked } = subject
  const consent: unknown = contact?.['consent']
  const previous: unknown = typeof consent === 'object' && consent !== null ? Reflect.get(consent, 'marketing') : null
  const language = contact?.['language']
  const isConfirmed = previous !== found.state && !isBlocked
  return {
    consentKeyword: found.keyword,
    subject: { ...subject, contact: { ...contact, consent: { ...Object(consent), marketing: found.state } } },
    confirmation: isConfirmed
      ? composeConfirmation(settings, found, typeof language === 'string' ? language : null)
      : null,
  }
}
