import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { UnauthorizedError, ForbiddenError } from '../platform/errors.ts'
import type { Scope } from '../scope/scope.ts'
import type { RequestContext } from '../trpc/context.ts'

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
    const { caller, openScope } = getContext(ctx)
    if (!caller || caller.workspace === 'missing') throw new UnauthorizedError()
    if (caller.workspace === 'refused') throw new ForbiddenError()
    const status = new URLSearchParams(ctx.querystring).get('status')
    const lines = await exportRecipients(openScope(caller, caller.workspace, undefined), {
      broadcastId: ctx['params'].broadcastId,
      status,
    })
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Content-Disposition', 'attachment; filename="recipients.csv"')
    ctx.type = 'text/csv; charset=utf-8'
    ctx.body = Readable.from(lines, { objectMode: false })
  }
}
