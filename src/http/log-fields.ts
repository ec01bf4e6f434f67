import type { Context } from 'koa'

/** Fields of the lines about a request. The workspace is the one whose data it reads or changes, once that is known. */
export function toLogFields({ state }: Context): { requestId: string; tenantId?: string } {
  const { requestId, tenantId } = state
  return tenantId === undefined ? { requestId } : { requestId, tenantId }
}

/** Names the workspace of a request, after its access was checked. */
export function setWorkspace({ state }: Context, tenantId: string): void {
  state['tenantId'] = tenantId
}
