import type { Context, Middleware } from 'koa'
import { HttpError } from './http-error.ts'
import { BODY_BYTES_MAX, readBytes } from './read-body.ts'

/** What the senders of webhooks call: the raw bytes and headers go in, an answer in JSON comes out. */
export type HandleWebhookCall = (call: {
  webhookId: string
  header: (name: string) => string
  body: Buffer
}) => Promise<{ status: number; body: object }>

const PATH = /^\/inbound\/webhooks\/([0-9A-Za-z-]+)$/

/** The address of a workflow lives outside `/api`: no session, no tenant header; the secret decides. */
export function workflowWebhookRoutes(answer: HandleWebhookCall): Middleware {
  return async function answerCall(ctx: Context, next) {
    const [, webhookId] = PATH.exec(ctx.path) ?? []
    if (!webhookId) return next()
    if (ctx.method !== 'POST') throw new HttpError(405, 'method_not_allowed', 'This path takes POST', { Allow: 'POST' })
    const body = await readBytes(ctx.req, BODY_BYTES_MAX)
    const { status, body: told } = await answer({ webhookId, header: (name) => ctx.get(name), body })
    ctx.status = status
    ctx.body = told
  }
}
