import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { omittable } from '../../trpc/schemas.ts'
import { markConversationRead, updateConversation } from './update-conversation.ts'
import { getConversation, listConversations, listMessages } from './queries.ts'
import * as schema from './schema.ts'

const LIST = { description: 'Sorted by the newest message, newest first. Conversations without messages come last.' }

const UPDATE = {
  description:
    'Closes, snoozes, reopens or assigns the conversation, or pauses or resumes automation. Closing turns automation on. A message of the customer reopens a closed conversation.',
}

const MESSAGES = {
  description: 'Returns at most 1000 messages, the newest by default. Older ones are on the pages of `nextCursor`.',
}

export const conversationsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/conversations', 'List conversations', LIST))
    .input(omittable(schema.ListConversations))
    .output(schema.ConversationPage)
    .query(({ ctx, input }) => listConversations(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/conversations/{conversationId}', 'Get a conversation', {
        description: 'Returns the conversation with its contact, assignee and service window.',
      }),
    )
    .input(schema.ConversationRef)
    .output(schema.Conversation)
    .query(({ ctx, input }) => getConversation(ctx.scope, input)),

  update: agentProcedure
    .meta(rest('PATCH', '/conversations/{conversationId}', 'Update a conversation', UPDATE))
    .input(schema.UpdateConversation)
    .output(schema.Conversation)
    .mutation(({ ctx, input }) => updateConversation(ctx.scope, input)),

  markRead: agentProcedure
    .meta(
      rest('POST', '/conversations/{conversationId}/read', 'Mark a conversation as read', {
        unaudited: 'it is reading',
        description:
          'Sets the number of unread messages to 0, and shows the customer in the background that the messages are read.',
      }),
    )
    .input(schema.ConversationRef)
    .output(schema.Conversation)
    .mutation(({ ctx, input }) => markConversationRead(ctx.scope, input)),

  listMessages: viewerProcedure
    .meta(rest('GET', '/conversations/{conversationId}/messages', 'List the messages of a conversation', MESSAGES))
    .input(schema.ListMessages)
    .output(schema.Messages)
    .query(({ ctx, input }) => listMessages(ctx.scope, input)),
})
