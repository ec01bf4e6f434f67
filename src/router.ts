import { aiProviderRouter } from './features/ai-provider/router.ts'
import { authRouter } from './features/auth/router.ts'
import { broadcastsRouter } from './features/broadcasts/router.ts'
import { channelsRouter } from './features/channels/router.ts'
import { contactsRouter } from './features/contacts/router.ts'
import { conversationsRouter } from './features/conversations/router.ts'
import { eventsRouter } from './features/events/router.ts'
import { groupsRouter } from './features/groups/router.ts'
import { messagesRouter } from './features/explanations/router.ts'
import { runsRouter } from './features/runs/router.ts'
import { sandboxRouter } from './features/sandbox/router.ts'
import { tagsRouter } from './features/tags/router.ts'
import { templatesRouter } from './features/templates/router.ts'
import { toolsRouter } from './features/tools/router.ts'
import { workflowsRouter } from './features/workflows/router.ts'
import { router } from './trpc/procedures.ts'

/** The API's table of contents. */
export const appRouter = router({
  auth: authRouter,
  contacts: contactsRouter,
  conversations: conversationsRouter,
  messages: messagesRouter,
  workflows: workflowsRouter,
  runs: runsRouter,
  events: eventsRouter,
  tags: tagsRouter,
  groups: groupsRouter,
  templates: templatesRouter,
  broadcasts: broadcastsRouter,
  tools: toolsRouter,
  'ai-provider': aiProviderRouter,
  channels: channelsRouter,
  sandbox: sandboxRouter,
})

export type AppRouter = typeof appRouter
