import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { getConversation } from './get-conversation.ts'
import { listConversations } from './list-conversations.ts'
import { listMessages } from './list-messages.ts'
import { readConversation } from './read-conversation.ts'
import * as schema from './schema.ts'
import { updateConversation } from './update-conversation.ts'

export const conversationsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/conversations', 'List conversations'))
    .input(schema.ListConversations)
    .output(schema.ConversationPage)
    .query(({ ctx, input }) => listConversations(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/conversations/{conversationId}', 'Get a conversation'))
    .input(schema.ConversationRef)
    .output(schema.Conversation)
    .query(({ ctx, input }) => getConversation(ctx.scope, input)),

  update: agentProcedure
    .meta(rest('PATCH', '/conversations/{conversationId}', 'Close, snooze, assign, or pause automation'))
    .input(schema.UpdateConversation)
    .output(schema.Conversation)
    .mutation(({ ctx, input }) => updateConversation(ctx.scope, input)),

  read: agentProcedure
    .meta(rest('POST', '/conversations/{conversationId}/read', 'Mark all messages as read'))
    .input(schema.ConversationRef)
    .output(schema.Conversation)
    .mutation(({ ctx, input }) => readConversation(ctx.scope, input)),

  messages: viewerProcedure
    .meta(rest('GET', '/conversations/{conversationId}/messages', 'List the messages of a conversation'))
    .input(schema.ListMessages)
    .output(schema.Messages)
    .query(({ ctx, input }) => listMessages(ctx.scope, input)),
})
