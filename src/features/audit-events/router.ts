import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { omittable } from '../../trpc/schemas.ts'
import { listAuditEvents } from './queries.ts'
import { AuditEventPage, ListAuditEvents } from './schema.ts'

const LIST = {
  description:
    'Newest first. With `Accept: application/x-ndjson` all events that match are streamed, one a line, and `limit`, `offset` and `cursor` are not accepted; such an export is an audit event itself.',
} as const

/** Procedures of the namespace `auditEvents`. */
export const auditEventsRouter = router({
  list: adminProcedure
    .meta(rest('GET', '/audit-events', 'List audit events', LIST))
    .input(omittable(ListAuditEvents))
    .output(AuditEventPage)
    .query(({ ctx, input }) => listAuditEvents(ctx.scope, input)),
})
