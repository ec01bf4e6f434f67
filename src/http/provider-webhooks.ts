import type { Context, Middleware } from 'koa'
import { readBytes } from './read-body.ts'

/** What providers call: the raw bytes and headers go in, a plain answer comes out. */
export type ProviderWebhookHandlers = (call: {
  kind: string
  channelId: string
  method: 'GET' | 'POST'
  query: URLSearchParams
  header: (name: string) => string
  body: Buffer
}) => Promise<{ status: number; body: string; type: string }>

const PATH = /^\/inbound\/([a-z]+)\/([0-9A-Za-z-]+)$/
const WEBHOOK_BYTES_MAX = 3 * 1024 * 1024

/** Provider webhooks live outside `/api`: no session, no tenant header, no limit per address; their signature decides. */
export function providerWebhookRoutes(inbound: ProviderWebhookHandlers): Middleware {
  return async function answerInbound(ctx: Context, next) {
    const [, kind, channelId] = PATH.exec(ctx.path) ?? []
    if (!kind || !channelId || (ctx.method !== 'GET' && ctx.method !== 'POST')) return next()
    const body = ctx.method === 'POST' ? await readBytes(ctx.req, WEBHOOK_BYTES_MAX) : Buffer.alloc(0)
    const answer = await inbound({
      kind,
      channelId,
      method: ctx.method,
      query: new URLSearchParams(ctx.querystring),
      header: (name) => ctx.get(name),
      body,
    })
    ctx.status = answer.status
    ctx.type = answer.type
    ctx.body = answer.body
  }
}
