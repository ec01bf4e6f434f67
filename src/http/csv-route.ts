import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import type { Scope } from '../scope/scope.ts'
import type { RequestContext } from '../trpc/context.ts'
import { authorize } from '../trpc/procedures.ts'

/** Lines of the recipients of a broadcast. */
export type ExportRecipients = (
  scope: Scope,
  input: { broadcastId: string; status: string | null },
) => Promise<AsyncGenerator<string>>

/** Serves the recipients of a broadcast as CSV to members, streamed. */
export function recipientsCsvRoute(
  exportRecipients: ExportRecipients,
  getContext: (ctx: Context) => RequestContext,
): Middleware {
  return async function answerRecipientsCsv(ctx) {
    const context = getContext(ctx)
    const { caller, workspaceId } = authorize(context, 'viewer', 'broadcasts:read')
    const status = new URLSearchParams(ctx.querystring).get('status')
    const lines = await exportRecipients(context.openScope(caller, workspaceId, undefined), {
      broadcastId: ctx['params'].broadcastId,
      status,
    })
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Content-Disposition', 'attachment; filename="recipients.csv"')
    ctx.type = 'text/csv; charset=utf-8'
    ctx.body = Readable.from(lines, { objectMode: false })
  }
}
