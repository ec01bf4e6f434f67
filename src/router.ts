import { authRouter } from './features/auth/router.ts'
import { contactsRouter } from './features/contacts/router.ts'
import { router } from './trpc/procedures.ts'

/** The API's table of contents. */
export const appRouter = router({
  auth: authRouter,
  contacts: contactsRouter,
})

export type AppRouter = typeof appRouter
