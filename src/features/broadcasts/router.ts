import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { estimateBroadcast, previewBroadcast } from './preview-broadcast.ts'
import { cancelBroadcast, pauseBroadcast } from './stop-broadcast.ts'
import { createBroadcast, deleteBroadcast, updateBroadcast } from './changes.ts'
import { resumeBroadcast, retryBroadcast, scheduleBroadcast, sendBroadcast } from './start-broadcast.ts'
import { getBroadcast, listBroadcasts, listRecipients } from './queries.ts'
import { getReport } from './report/get-report.ts'
import { BroadcastEstimate, BroadcastPreview, BroadcastReport, BroadcastTest } from './schema.ts'
import * as schema from './schema.ts'
import { testBroadcast } from './test-broadcast.ts'

const CREATE = { status: 201, description: 'The broadcast is a draft: nothing is sent.' } as const

const UPDATE = { description: 'A broadcast can be updated until it starts. Fields that are left out stay as they are.' }

const DELETE = { status: 204, description: 'Only a draft can be deleted.' } as const

const SEND = {
  scope: 'broadcasts:send',
  idempotent: true,
  description:
    'Starts a draft or a scheduled broadcast. It is `preparing` while its recipients are listed, with their parameters, then `sending` until none is pending. Each recipient is sent at most one message that the provider accepts.',
} as const

const SCHEDULE = {
  scope: 'broadcasts:send',
  description:
    'Sets the start and the quiet hours. Fields that are left out get their defaults. With `at` null, a scheduled broadcast becomes a draft again; its quiet hours stay for `send`.',
} as const

const PAUSE = {
  description:
    'No further message is handed to the provider. Messages that a worker has claimed, at most 128, are still sent; the others are withdrawn and their recipients are pending again.',
} as const

const RESUME = {
  scope: 'broadcasts:send',
  description: 'Continues a paused broadcast with the recipients that are pending.',
} as const

const CANCEL = {
  description:
    'Ends the broadcast. Recipients to whom nothing was sent are canceled. Messages that a worker has claimed, at most 128, are still sent.',
} as const

const RETRY = {
  scope: 'broadcasts:send',
  idempotent: true,
  description:
    'Sends the broadcast again to recipients who failed. Recipients of whom the provider accepted a message are left out, and so are those whose delivery is unknown unless they are named in `notAcceptedRecipientIds`.',
} as const

const PREVIEW = {
  unaudited: 'it stores nothing',
  scope: 'broadcasts:read',
  description:
    'Shows what the first contacts of the audience would be sent, and who would be skipped. Nothing is stored.',
} as const

const ESTIMATE = {
  unaudited: 'it stores nothing',
  scope: 'broadcasts:read',
  description: 'Counts the contacts of the audience, and those who would be skipped by reason.',
} as const

const TEST = {
  scope: 'broadcasts:send',
  idempotent: true,
  description:
    'Sends the message at once to up to 10 contacts and phone numbers, who do not become recipients of the broadcast. They need no opt-in. Contacts who may not be sent it are skipped with the reason; if all are, the answer is 422 `test_not_sent`.',
  example: { phones: ['+14155550100'] },
} as const

const REPORT = {
  description:
    'Proves what was sent to whom: the hash of the list of recipients, the number of recipients by status, recipients of whom the provider accepted more than one message, and each recipient whose delivery was in doubt with how that was settled. `npm run verify-broadcast` computes it again from the stored rows.',
}

const RECIPIENTS = { description: 'Each recipient has its delivery status.' }

export const broadcastsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/broadcasts', 'List broadcasts', { description: 'Sorted by creation time, newest first.' }))
    .input(omittable(schema.ListBroadcasts))
    .output(schema.BroadcastPage)
    .query(({ ctx, input }) => listBroadcasts(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/broadcasts', 'Create a broadcast', CREATE))
    .input(schema.CreateBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => createBroadcast(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/broadcasts/{broadcastId}', 'Get a broadcast', {
        description: 'Returns the broadcast with the number of its recipients by delivery status.',
      }),
    )
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .query(({ ctx, input }) => getBroadcast(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/broadcasts/{broadcastId}', 'Update a broadcast', UPDATE))
    .input(schema.UpdateBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => updateBroadcast(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/broadcasts/{broadcastId}', 'Delete a broadcast', DELETE))
    .input(schema.BroadcastRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteBroadcast(ctx.scope, input)),

  preview: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/preview', 'Preview a broadcast', PREVIEW))
    .input(schema.PreviewBroadcast)
    .output(BroadcastPreview)
    .mutation(({ ctx, input, signal }) => previewBroadcast(ctx.scope, input, signal)),

  estimate: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/estimate', 'Estimate the audience of a broadcast', ESTIMATE))
    .input(schema.BroadcastRef)
    .output(BroadcastEstimate)
    .mutation(({ ctx, input, signal }) => estimateBroadcast(ctx.scope, input, signal)),

  sendTest: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/test', 'Send a broadcast to test recipients', TEST))
    .input(schema.TestBroadcast)
    .output(BroadcastTest)
    .mutation(({ ctx, input }) => testBroadcast(ctx.scope, input)),

  send: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/send', 'Send a broadcast', SEND))
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => sendBroadcast(ctx.scope, input)),

  schedule: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/schedule', 'Schedule a broadcast', SCHEDULE))
    .input(schema.ScheduleBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => scheduleBroadcast(ctx.scope, input)),

  pause: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/pause', 'Pause a broadcast', PAUSE))
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => pauseBroadcast(ctx.scope, input)),

  resume: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/resume', 'Resume a broadcast', RESUME))
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => resumeBroadcast(ctx.scope, input)),

  cancel: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/cancel', 'Cancel a broadcast', CANCEL))
    .input(schema.BroadcastRef)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => cancelBroadcast(ctx.scope, input)),

  retry: adminProcedure
    .meta(rest('POST', '/broadcasts/{broadcastId}/retry', 'Retry failed recipients of a broadcast', RETRY))
    .input(schema.RetryBroadcast)
    .output(schema.Broadcast)
    .mutation(({ ctx, input }) => retryBroadcast(ctx.scope, input)),

  listRecipients: viewerProcedure
    .meta(rest('GET', '/broadcasts/{broadcastId}/recipients', 'List the recipients of a broadcast', RECIPIENTS))
    .input(schema.ListRecipients)
    .output(schema.BroadcastRecipientPage)
    .query(({ ctx, input }) => listRecipients(ctx.scope, input)),

  getReport: viewerProcedure
    .meta(rest('GET', '/broadcasts/{broadcastId}/report', 'Get the report of a broadcast', REPORT))
    .input(schema.BroadcastRef)
    .output(BroadcastReport)
    .query(({ ctx, input }) => getReport(ctx.scope, input)),
})
