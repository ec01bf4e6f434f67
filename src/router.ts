import { authRouter } from './features/auth/router.ts'
import { channelsRouter } from './features/channels/router.ts'
import { contactsRouter } from './features/contacts/router.ts'
import { conversationsRouter } from './features/conversations/router.ts'
import { runsRouter } from './features/runs/router.ts'
import { sandboxRouter } from './features/sandbox/router.ts'
import { workflowsRouter } from './features/workflows/router.ts'
import { router } from './trpc/procedures.ts'

/** The API's table of contents. */
export const appRouter = router({
  auth: authRouter,
  contacts: contactsRouter,
  conversations: conversationsRouter,
  workflows: workflowsRouter,
  runs: runsRouter,
  channels: channelsRouter,
  sandbox: sandboxRouter,
})

export type AppRouter = typeof appRouter
