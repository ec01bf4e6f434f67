import type { Context } from 'koa'
import { findSpan } from './trace-requests.ts'

/** Fields of the lines about a request. The workspace is the one whose data it reads or changes, once that is known. */
export function toLogFields(ctx: Context): { requestId: string; tenantId?: string; traceId?: string } {
  const { requestId, tenantId } = ctx.state
  const traceId = findSpan(ctx)?.traceId
  const named = tenantId === undefined ? { requestId } : { requestId, tenantId }
  return traceId === undefined ? named : { ...named, traceId }
}

/** Names the workspace of a request, after its access was checked. */
export function setWorkspace({ state }: Context, tenantId: string): void {
  state['tenantId'] = tenantId
}
