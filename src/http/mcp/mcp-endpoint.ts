import type { Context, Middleware } from 'koa'
import { assertBounded, assertBoundedText } from '../../platform/bounded-json.ts'
import { ForbiddenError, UnauthorizedError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/log.ts'
import { parseJsonBytes } from '../../platform/parse-json.ts'
import type { AppRouter } from '../../router.ts'
import type { RequestContext } from '../../trpc/context.ts'
import { findKey } from '../api-key.ts'
import { assertJson, BODY_BYTES_MAX, readBytes } from '../load/read-body.ts'
import { MCP_PATH } from '../paths.ts'
import { abortOnDisconnect } from '../rest.ts'
import { listKeyOperations } from './mcp-call.ts'
import { serveTools } from './serve-tools.ts'

type Dependencies = { openContext: (ctx: Context) => Promise<RequestContext>; log: Logger }

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

/** Serves assistants over the Model Context Protocol, to API keys only. */
export function mcpEndpoint(router: AppRouter, { openContext, log }: Dependencies): Middleware {
  const operations = listKeyOperations(router)
  return async function answerMcp(ctx, next) {
    if (ctx.path !== MCP_PATH) return next()
    // A cookie would be sent by a browser on behalf of any page.
    if (!findKey(ctx)) throw new UnauthorizedError()
    const context = await openContext(ctx)
    const { key } = context
    if (!key || key.workspace === 'refused') throw new ForbiddenError()
    const request = toRequest(ctx)
    const body = ctx.method === 'POST' ? await readMessage(ctx) : undefined
    if (body && 'problem' in body) return answerProblem(ctx, body.problem)
    const response = await serveTools(request, {
      body: body?.message,
      caller: { router, operations, context, key, workspaceId: key.workspace.id },
      log: (error) => log.debug({ err: error, requestId: context.requestId }, 'mcp request rejected'),
    })
    // The answer is complete and small, also where the protocol calls it a stream.
    const bytes = Buffer.from(await response.arrayBuffer())
    ctx.body = bytes.length === 0 ? null : bytes
    ctx.status = response.status
    for (const [name, value] of response.headers) if (name !== 'content-length') ctx.set(name, value)
  }
}

/** The message is passed beside the request, which has no body. */
function toRequest(ctx: Context): Request {
  const headers = new Headers()
  for (const name of ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id']) {
    const value = ctx.get(name)
    if (value !== '') headers.set(name, value)
  }
  return new Request(`http://localhost${MCP_PATH}`, { method: ctx.method, headers, signal: abortOnDisconnect(ctx) })
}

type Problem = { code: number; message: string }

/** Reads one message. @throws TransportError if it is too large or not JSON; InvalidError if it is too complex */
async function readMessage(ctx: Context): Promise<{ message: unknown } | { problem: Problem }> {
  assertJson(ctx)
  const bytes = await readBytes(ctx, BODY_BYTES_MAX)
  assertBoundedText(bytes)
  let message: unknown
  try {
    message = parseJsonBytes(bytes)
  } catch {
    return { problem: { code: PARSE_ERROR, message: 'The body is not valid JSON' } }
  }
  if (Array.isArray(message))
    return { problem: { code: INVALID_REQUEST, message: 'Send each message in a request of its own, not in a batch' } }
  assertBounded(message)
  return { message: message ?? {} }
}

function answerProblem(ctx: Context, error: Problem): void {
  ctx.status = 400
  ctx.body = { jsonrpc: '2.0', id: null, error }
}
