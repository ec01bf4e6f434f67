import { findSendObstacle, type SendObstacle } from '../../channels/send-obstacle.ts'
import { deriveId, idTimestamp } from '../../engine/model/derive-id.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow } from '../../models/messaging.ts'
import { Run as RunRow } from '../../models/automation.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import { isTimezone } from '../../platform/calendar/zoned-time.ts'
import type { Scope } from '../../scope/scope.ts'
import { getContact } from '../contacts/queries.ts'
import { type Contact, UpdateContact } from '../contacts/schema.ts'
import { updateContact } from '../contacts/changes.ts'
import { pauseAutomation } from '../conversations/automation.ts'
import { queueMessages } from '../outbound/queue-messages.ts'
import { updateConversation } from '../conversations/update-conversation.ts'
import { isWindowOpen } from '../conversations/service-window.ts'

type Caller = { runId: string; stepId: string; key: string }
type Action = (tx: Scope, input: JsonObject, caller: Caller) => Promise<unknown>

/** Implementations of the built-in tools on our own tables. Inputs have been validated against the schemas of the tools. */
export const BUILTIN_ACTIONS: Readonly<Record<string, Action>> = {
  'contact.get': async (tx, input) => toContactOutput(await getContact(tx, { contactId: String(input['contactId']) })),
  'contact.update': (tx, input) => updateContactDetails(tx, input),
  'contact.tag': (tx, { contactId, tags }) => updateContactDetails(tx, { contactId, addTags: tags }),
  'conversation.handoff': handoffConversation,
  'conversation.close': closeConversation,
  'message.send': sendMessage,
  'time.now': async (tx, { timezone }) => ({ now: formatTime(tx.now(), timezone) }),
}

const FINAL = { retryable: false }

function toContactOutput({ id, name, phone, email, language, country, timezone, fields, tags }: Contact): JsonObject {
  return { id, name, phone, email, language, country, timezone, fields, tags: tags.map((tag) => tag.name) }
}

/** Validates the input again, since the schema of the contact is stricter than that of the tool. */
async function updateContactDetails(tx: Scope, changes: JsonObject): Promise<JsonObject> {
  const parsed = UpdateContact.safeParse(changes)
  if (parsed.success) return toContactOutput(await updateContact(tx, parsed.data))
  const [issue] = parsed.error.issues
  throw new StepError('invalid_tool_input', `input.${issue?.path.join('.')} ${issue?.message}`, FINAL)
}

async function handoffConversation(tx: Scope, { conversationId, reason }: JsonObject): Promise<JsonObject> {
  const { id } = await tx.lock(ConversationRow, String(conversationId))
  await pauseAutomation(tx, [{ conversationId: id, reason: typeof reason === 'string' ? reason : null, until: null }])
  return {}
}

async function closeConversation(tx: Scope, { conversationId }: JsonObject): Promise<JsonObject> {
  await updateConversation(tx, { conversationId: String(conversationId), status: 'closed' })
  return {}
}

const OBSTACLES: Record<SendObstacle, string> = {
  contact_blocked: 'The contact is blocked and receives no messages',
  contact_opted_out: 'The contact opted out of automated messages',
}

async function sendMessage(tx: Scope, { conversationId, body }: JsonObject, caller: Caller): Promise<JsonObject> {
  const conversation = await tx.lock(ConversationRow, String(conversationId))
  const now = tx.now()
  if (!isWindowOpen(conversation.windowExpiresAt, now)) {
    throw new StepError(
      'outside_window',
      'The 24-hour window of the conversation is closed, so free text cannot be sent',
    )
  }
  const obstacle = findSendObstacle(await tx.get(ContactRow, conversation.contactId), null, { isAutomated: true })
  if (obstacle) throw new StepError(obstacle, OBSTACLES[obstacle], FINAL)
  const run = await tx.get(RunRow, caller.runId)
  // Messages are sent in the order of their IDs, so this one must follow the newest, even in the same millisecond.
  const newest = conversation.lastMessage ? (idTimestamp(conversation.lastMessage.id) ?? -1) : -1
  const messageId = deriveId(caller.key, 0, Math.max(now.getTime(), newest + 1))
  await queueMessages(tx, [
    {
      id: messageId,
      conversationId: conversation.id,
      contactId: conversation.contactId,
      channelId: conversation.channelId,
      body: String(body),
      content: null,
      sender: { type: 'workflow', id: run.workflowId, name: null },
      runId: run.id,
      stepId: caller.stepId,
    },
  ])
  return { messageId }
}

function formatTime(now: Date, timezone: unknown): string {
  if (typeof timezone !== 'string') return now.toISOString()
  if (!isTimezone(timezone)) {
    throw new StepError(
      'invalid_tool_input',
      'input.timezone must be an IANA time zone such as America/Sao_Paulo',
      FINAL,
    )
  }
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' }).formatToParts(now)
  const offsetName = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [offset = '+00:00', sign = '+', hours = 0, minutes = 0] = /([+-])(\d\d):(\d\d)/.exec(offsetName) ?? []
  const offsetMinutes = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1)
  return addMs(now, offsetMinutes * MINUTE)
    .toISOString()
    .replace('Z', offset)
}
