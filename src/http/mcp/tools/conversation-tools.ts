import { z } from 'zod'
import { id, text } from '../../../trpc/schemas.ts'
import type { McpCall } from '../mcp-call.ts'
import { showUntrusted, ToolError } from '../result.ts'
import { defineTool, omitUndefined, type Tool } from '../tool.ts'
import { confirm, takeTwoSteps } from '../two-steps.ts'
import { pageFields } from './contact-tools.ts'

/** The longest list of messages that a model can make use of. */
const MESSAGES_MAX = 50

const template = z
  .strictObject({ name: text(512), language: text(20), params: z.record(z.string(), z.string().max(2048)).optional() })
  .meta({ description: 'An approved template, which needs no open service window' })

export const conversationTools: Tool[] = [
  defineTool({
    name: 'find_conversations',
    title: 'Find conversations',
    description: 'Lists conversations with their last message, the latest first.',
    scopes: ['conversations:read'],
    effect: 'read',
    input: z.strictObject({
      status: z.enum(['active', 'snoozed', 'closed']).optional(),
      contactId: id.optional(),
      unread: z.boolean().optional(),
      windowOpen: z.boolean().optional().meta({ description: 'Only those in which any message may be sent now' }),
      ...pageFields,
    }),
    run: async ({ api }, input) => showUntrusted(await api.conversations.list(input)),
  }),
  defineTool({
    name: 'read_conversation',
    title: 'Read a conversation',
    description:
      'Returns a conversation and its latest messages, the newest first. For older ones, send `nextCursor` as `cursor`.',
    scopes: ['conversations:read'],
    effect: 'read',
    input: z.strictObject({
      conversationId: id,
      limit: z.int().min(1).max(MESSAGES_MAX).default(20),
      cursor: pageFields.cursor,
    }),
    async run({ api }, { conversationId, ...page }) {
      const conversation = await api.conversations.get({ conversationId })
      const { messages, nextCursor } = await api.conversations.listMessages({ conversationId, ...page })
      const items = messages.toReversed().map(({ id: messageId, direction, type, body, ...message }) => ({
        messageId,
        at: message.createdAt,
        direction,
        sender: message.sender,
        type,
        body,
        content: message.content,
        status: message.status,
        error: message.error,
        runId: message.runId,
        broadcastId: message.broadcastId,
      }))
      return showUntrusted({ conversation, nextCursor, items })
    },
  }),
  defineTool({
    name: 'send_message',
    title: 'Send a message',
    description:
      'Sends a text or a template to one person, in two calls: the first sends nothing and returns a preview with a handle, the second has the same arguments and the handle as `confirm`. Texts need an open service window: 24 hours from the last message of the person. Name a conversation, a contact or a phone number.',
    scopes: ['messages:send'],
    effect: 'send',
    input: z.strictObject({
      conversationId: id.optional(),
      contactId: id.optional(),
      phone: z.string().max(40).optional().meta({ description: 'E.164' }),
      text: text(4096).optional(),
      template: template.optional(),
      channelId: id.optional().meta({ description: 'Required unless the workspace has one channel' }),
      sendAt: z.iso.datetime({ offset: true }).optional(),
      confirm,
    }),
    run: (call, input) => sendMessage(call, input),
  }),
  defineTool({
    name: 'explain',
    title: 'Explain what happened',
    description:
      'Says why a message was sent, with all causes and effects; or, for a contact and a workflow, why the workflow did not start.',
    scopes: ['messages:read', 'contacts:read'],
    effect: 'read',
    input: z.strictObject({ messageId: id.optional(), contactId: id.optional(), workflowId: id.optional() }),
    async run({ api }, { messageId, contactId, workflowId }) {
      if (messageId !== undefined) return showUntrusted(await api.messages.explain({ messageId }))
      if (contactId === undefined || workflowId === undefined)
        throw new ToolError('Send messageId, or contactId and workflowId')
      return showUntrusted(await api.contacts.listTriggerEvaluations({ contactId, workflowId, limit: 20 }))
    },
  }),
]

type Sending = {
  conversationId?: string | undefined
  contactId?: string | undefined
  phone?: string | undefined
  text?: string | undefined
  template?: object | undefined
  channelId?: string | undefined
  sendAt?: string | undefined
  confirm?: string | undefined
}

function sendMessage(call: McpCall, { confirm: handle, text: body, ...sending }: Sending) {
  const { conversationId, contactId, phone, channelId, template: chosen, sendAt } = sending
  if ([conversationId, contactId, phone].filter((one) => one !== undefined).length !== 1)
    throw new ToolError('Send exactly one of conversationId, contactId and phone')
  const isAnswer = conversationId !== undefined
  const address = isAnswer ? { conversationId } : { to: { contactId, phone }, channelId }
  const input = omitUndefined({ ...address, body, template: chosen, sendAt })
  return takeTwoSteps(call, call.get(isAnswer ? 'conversations.send' : 'messages.send'), { input, handle })
}
