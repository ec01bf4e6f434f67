import type { Context, Middleware } from 'koa'
import { TransportError } from '../trpc/errors.ts'
import { PROVIDER_WEBHOOK_PATH, WORKFLOW_WEBHOOK_PATH } from './paths.ts'
import { BODY_BYTES_MAX, readBytes } from './read-body.ts'

/** Handles a webhook of a channel's provider: raw bytes and headers in, a plain answer out. */
export type HandleProviderWebhook = (call: {
  kind: string
  channelId: string
  method: 'GET' | 'POST'
  query: URLSearchParams
  header: (name: string) => string
  body: Buffer
}) => Promise<{ status: number; body: string; type: string }>

/** Handles a call to the webhook of a workflow: raw bytes and headers in, a JSON answer out. */
export type HandleWorkflowWebhook = (call: {
  webhookId: string
  header: (name: string) => string
  body: Buffer
}) => Promise<{ status: number; body: object }>

const PROVIDER_BYTES_MAX = 3 * 1024 * 1024

/** Provider webhooks are outside `/api`: no session, no tenant header, no limit per address; the signature decides. */
export function providerWebhookRoutes(handle: HandleProviderWebhook): Middleware {
  return async function answerProviderWebhook(ctx: Context, next) {
    const [, kind, channelId] = PROVIDER_WEBHOOK_PATH.exec(ctx.path) ?? []
    if (!kind || !channelId || (ctx.method !== 'GET' && ctx.method !== 'POST')) return next()
    const answer = await handle({
      kind,
      channelId,
      method: ctx.method,
      query: new URLSearchParams(ctx.querystring),
      header: (name) => ctx.get(name),
      body: ctx.method === 'POST' ? await readBytes(ctx.req, PROVIDER_BYTES_MAX) : Buffer.alloc(0),
    })
    ctx.status = answer.status
    ctx.type = answer.type
    ctx.body = answer.body
  }
}

/** Workflow webhooks are outside `/api`: no session, no tenant header; the secret decides. */
export function workflowWebhookRoutes(handle: HandleWorkflowWebhook): Middleware {
  return async function answerWorkflowWebhook(ctx: Context, next) {
    const [, webhookId] = WORKFLOW_WEBHOOK_PATH.exec(ctx.path) ?? []
    if (!webhookId) return next()
    if (ctx.method !== 'POST') {
      throw new TransportError('METHOD_NOT_SUPPORTED', { message: 'This path takes POST', headers: { Allow: 'POST' } })
    }
    const answer = await handle({
      webhookId,
      header: (name) => ctx.get(name),
      body: await readBytes(ctx.req, BODY_BYTES_MAX),
    })
    ctx.status = answer.status
    ctx.body = answer.body
  }
}
