import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { omittable } from '../../trpc/schemas.ts'
import { subscription } from '../../trpc/subscriptions.ts'
import { FollowMessages } from '../conversations/schema.ts'
import { FollowBroadcast } from '../broadcasts/schema.ts'
import { EventPage, FollowEvents, ListEvents } from '../events/schema.ts'
import { FollowJob } from '../jobs/schema.ts'
import { FollowRun } from '../runs/schema.ts'
import { followBroadcast } from './follow-broadcast.ts'
import { followJob } from './follow-job.ts'
import { followMessages } from './follow-messages.ts'
import { followRun } from './follow-run.ts'
import { followWorkspace } from './follow-events.ts'
import { listEvents } from './list-events.ts'

export const conversationSubscriptionsRouter = router({
  follow: viewerProcedure
    .meta({ scope: 'conversations:read' })
    .input(FollowMessages)
    .subscription(({ ctx, input, signal }) =>
      subscription(ctx, signal, (until) => followMessages(ctx.scope, input, until)),
    ),
})

export const runSubscriptionsRouter = router({
  follow: viewerProcedure
    .meta({ scope: 'runs:read' })
    .input(FollowRun)
    .subscription(({ ctx, input, signal }) => subscription(ctx, signal, (until) => followRun(ctx.scope, input, until))),
})

export const broadcastSubscriptionsRouter = router({
  follow: viewerProcedure
    .meta({ scope: 'broadcasts:read' })
    .input(FollowBroadcast)
    .subscription(({ ctx, input, signal }) =>
      subscription(ctx, signal, (until) => followBroadcast(ctx.scope, input, until)),
    ),
})

export const jobSubscriptionsRouter = router({
  follow: viewerProcedure
    .meta({ scope: 'jobs:read' })
    .input(FollowJob)
    .subscription(({ ctx, input, signal }) => subscription(ctx, signal, (until) => followJob(ctx.scope, input, until))),
})

const LIST = {
  description:
    'Events of the workspace in the order of their positions, which the stream and the subscription `events.follow` share. A call reads at most 10,000 events to find those of the types, so it may return none and `hasMore`.',
}

export const eventSubscriptionsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/events', 'List events', LIST))
    .input(omittable(ListEvents))
    .output(EventPage)
    .query(({ ctx, input }) => listEvents(ctx.scope, input)),

  follow: viewerProcedure
    .meta({ scope: 'events:read' })
    .input(omittable(FollowEvents))
    .subscription(({ ctx, input, signal }) =>
      subscription(ctx, signal, (until) => followWorkspace(ctx.scope, input, until)),
    ),
})
