import type { Context, Middleware } from 'koa'
import { NotFoundError, UnauthorizedError } from '../platform/errors.ts'
import type { Span } from '../platform/tracing/span.ts'
import { TransportError } from '../trpc/errors.ts'
import { PROVIDER_WEBHOOK_PATH, WORKFLOW_WEBHOOK_PATH } from './paths.ts'
import { BODY_BYTES_MAX, readBytes } from './load/read-body.ts'
import { setWorkspace } from './log-fields.ts'
import { findSpan } from './trace-requests.ts'
import type { WebhookGuard } from './webhook-guard.ts'

/** Webhooks of the channels' providers: raw bytes and headers in, a plain answer out. */
export type ProviderWebhooks = {
  isKnown(address: { kind: string; channelId: string }): Promise<boolean>
  handle(call: {
    kind: string
    channelId: string
    method: 'GET' | 'POST'
    query: URLSearchParams
    header: (name: string) => string
    body: Buffer
    setWorkspace: (tenantId: string) => void
    span: Span | undefined
  }): Promise<{ status: number; body: string; type: string }>
}

/** Webhooks of workflows: raw bytes and headers in, a JSON answer out. */
export type WorkflowWebhooks = {
  isKnown(webhookId: string): Promise<boolean>
  handle(call: {
    webhookId: string
    header: (name: string) => string
    body: Buffer
    setWorkspace: (tenantId: string) => void
    span: Span | undefined
  }): Promise<{ status: number; body: object }>
}

const PROVIDER_BYTES_MAX = 3 * 1024 * 1024

/** Provider webhooks are outside `/api`: no session, no tenant header; the signature decides. */
export function providerWebhookRoutes({ isKnown, handle }: ProviderWebhooks, guard: WebhookGuard): Middleware {
  return async function answerProviderWebhook(ctx: Context, next) {
    const { method } = ctx
    const [, kind, channelId] = PROVIDER_WEBHOOK_PATH.exec(ctx.path) ?? []
    if (!kind || !channelId || (method !== 'GET' && method !== 'POST')) return next()
    const answer = await guard.run(ctx, {
      id: channelId,
      key: `${kind} ${channelId}`,
      isKnown: () => isKnown({ kind, channelId }),
      unknownError: () => new NotFoundError('Channel'),
      handle: async () =>
        handle({
          kind,
          channelId,
          method,
          query: new URLSearchParams(ctx.querystring),
          header: (name) => ctx.get(name),
          body: method === 'POST' ? await readBytes(ctx, PROVIDER_BYTES_MAX) : Buffer.alloc(0),
          setWorkspace: (tenantId) => setWorkspace(ctx, tenantId),
          span: findSpan(ctx),
        }),
    })
    ctx.status = answer.status
    ctx.type = answer.type
    ctx.body = answer.body
  }
}

/** Workflow webhooks are outside `/api`: no session, no tenant header; the secret decides. */
export function workflowWebhookRoutes({ isKnown, handle }: WorkflowWebhooks, guard: WebhookGuard): Middleware {
  return async function answerWorkflowWebhook(ctx: Context, next) {
    const [, webhookId] = WORKFLOW_WEBHOOK_PATH.exec(ctx.path) ?? []
    if (!webhookId) return next()
    if (ctx.method !== 'POST') {
      throw new TransportError('METHOD_NOT_SUPPORTED', { message: 'This path takes POST', headers: { Allow: 'POST' } })
    }
    const answer = await guard.run(ctx, {
      id: webhookId,
      key: `workflow ${webhookId}`,
      isKnown: () => isKnown(webhookId),
      // The same error as for a wrong secret.
      unknownError: () => new UnauthorizedError(),
      handle: async () =>
        handle({
          webhookId,
          header: (name) => ctx.get(name),
          body: await readBytes(ctx, BODY_BYTES_MAX),
          setWorkspace: (tenantId) => setWorkspace(ctx, tenantId),
          span: findSpan(ctx),
        }),
    })
    ctx.status = answer.status
    ctx.body = answer.body
  }
}
