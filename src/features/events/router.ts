import { live, NEVER } from '../../trpc/live.ts'
import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { followWorkspace } from './follow-workspace.ts'
import { FollowEvents } from './schema.ts'

export const eventsRouter = router({
  follow: viewerProcedure
    .input(FollowEvents)
    .subscription(async ({ ctx, input, signal }) => live(await followWorkspace(ctx.scope, input, signal ?? NEVER))),
})
