import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { ConversationRef, Message } from '../conversations/schema.ts'
import { cancelMessage } from './scheduled-messages.ts'
import { getMessage } from './queries.ts'
import { BulkMessageResults, BulkMessages, MessageRef, SendMessage, SendToRecipient } from './schema.ts'
import { sendMessage } from './send-message.ts'
import { bulkMessages, sendToRecipient } from './send-to-recipient.ts'
import { showTyping } from './read-receipts.ts'

const CONTENT =
  'The message has exactly one kind of content: `body`, `media`, `sticker`, `location`, `contacts`, `reaction`, `buttons`, `list`, `link` or `template`; a `body` goes with `media`, `buttons`, `list` and `link`. All but templates need an open service window: 24 hours from the last message of the customer.'

const SEND = {
  unaudited: 'the message names who sent it',
  scope: 'messages:send',
  status: 201,
  description: `Queues a message, or schedules it with \`sendAt\`. ${CONTENT} Automation of the conversation is paused, unless a template is sent, and a closed conversation is reopened.`,
  location: '/api/messages/{id}',
  example: { body: 'Hello, how can I help?' },
} as const

const SEND_TO = {
  unaudited: 'the message names who sent it',
  scope: 'messages:send',
  status: 201,
  description: `Sends a message to a contact, or to a phone number: the contact and the conversation are created if they do not exist. ${CONTENT}`,
  location: '/api/messages/{id}',
  example: {
    to: { phone: '+14155550100' },
    template: { name: 'order_update', language: 'en', params: { number: '4711' } },
  },
} as const

const BULK = {
  scope: 'messages:send',
  idempotent: true,
  description:
    'Sends up to 500 messages in one call, which counts as one. The answer has a result for each item, in their order: an item that is not valid, or that may not be sent, fails by itself. A repetition sends the messages again unless both calls have the same Idempotency-Key.',
} as const

export const conversationMessagesRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/conversations/{conversationId}/messages', 'Send a message', SEND))
    .input(SendMessage)
    .output(Message)
    .mutation(({ ctx, input }) => sendMessage(ctx.scope, input)),

  showTyping: agentProcedure
    .meta(
      rest('POST', '/conversations/{conversationId}/typing', 'Show the typing indicator', {
        status: 202,
        unaudited: 'it changes nothing that is kept',
        description:
          'Shows the customer for up to 25 seconds, or until the next message, that somebody is typing. It marks the last message of the customer as read.',
      }),
    )
    .input(ConversationRef)
    .output(empty)
    .mutation(({ ctx, input }) => showTyping(ctx.scope, input)),
})

export const messagesRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/messages', 'Send a message to a person', SEND_TO))
    .input(SendToRecipient)
    .output(Message)
    .mutation(({ ctx, input }) => sendToRecipient(ctx.scope, input)),

  bulk: agentProcedure
    .meta(
      rest('POST', '/messages/bulk', 'Send many messages', { unaudited: 'the messages name who sent them', ...BULK }),
    )
    .input(BulkMessages)
    .output(BulkMessageResults)
    .mutation(({ ctx, input }) => bulkMessages(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/messages/{messageId}', 'Get a message', {
        description: 'Returns the message with its delivery status.',
      }),
    )
    .input(MessageRef)
    .output(Message)
    .query(({ ctx, input }) => getMessage(ctx.scope, input)),

  cancel: agentProcedure
    .meta(
      rest('POST', '/messages/{messageId}/cancel', 'Cancel a scheduled message', {
        description: 'Cancels a message before its `sendAt`. Messages that are queued or sent cannot be canceled.',
      }),
    )
    .input(MessageRef)
    .output(Message)
    .mutation(({ ctx, input }) => cancelMessage(ctx.scope, input)),
})
