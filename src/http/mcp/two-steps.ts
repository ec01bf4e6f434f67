import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { commitOnce, findAnswer, toKeyedRequest } from '../../trpc/idempotency.ts'
import { hashContent, openHandle, signPreview, sortContent } from './confirmations.ts'
import { assertInput, type KeyOperation, type McpCall } from './mcp-call.ts'
import { describeCall } from './previews.ts'
import { keepShort, showUntrusted, ToolError, type ToolResult } from './result.ts'

/** The field of the input with which a tool confirms. */
export const confirm = z
  .string()
  .max(200)
  .optional()
  .meta({ description: 'Handle from the preview, once the user has agreed. Leave it out for the preview' })

/** Route of the handles of operations that accept no Idempotency-Key. */
const HANDLE_ROUTE = 'mcp.confirm'

/**
 * Makes a change in two calls. The first does nothing and returns a preview with a handle; the second has the same input
 * and the handle. The handle is for the key, the input and what was shown, for ten minutes and once: it becomes the
 * Idempotency-Key of the operation.
 * @throws ForbiddenError; TRPCError if the input is not valid; ToolError
 */
export async function takeTwoSteps(
  call: McpCall,
  operation: KeyOperation,
  { input: given, handle: text }: { input: object; handle: string | undefined },
): Promise<ToolResult> {
  const input = sortContent(given)
  await call.assertMay(operation)
  assertInput(operation, input)
  const { workspaceId, key, context } = call
  const { secrets } = context.system
  const operationId = operation.procedurePath
  const previewed = { workspaceId, keyId: key.key.id, operationId, input }
  const now = context.system.now()
  if (text === undefined) {
    const { bound, shown } = await describeCall(call, operation, input)
    const { handle, expiresAt } = signPreview(secrets, previewed, { shown: bound, now })
    return showPreview(operation, { handle, expiresAt, shown })
  }
  const handle = openHandle(secrets, previewed, { text, now })
  if (!handle)
    throw new ToolError(
      `Nothing was done: the handle is not for this call and these arguments, or is older than ten minutes. ${AGAIN}`,
    )
  const output = await executeOnce(call, operation, { input, handleId: handle.id, shown: handle.shown })
  const result = showUntrusted(output ?? {}, 'Done.')
  return { ...result, structuredContent: { status: 'done', operationId } }
}

const AGAIN = 'Call the tool without `confirm` for a new preview'

function showPreview(
  { procedurePath, meta }: KeyOperation,
  { handle, expiresAt, shown }: { handle: string; expiresAt: Date; shown: object },
): ToolResult {
  const summary = meta.openapi?.summary ?? procedurePath
  const note = `Nothing has been done yet. This is the preview of: ${summary}. Show it to the user. If the user agrees, call this tool again before ${expiresAt.toISOString()} with the same arguments and confirm: ${handle}`
  return {
    ...showUntrusted(shown, note),
    structuredContent: {
      status: 'preview',
      operationId: procedurePath,
      confirm: handle,
      expiresAt: expiresAt.toISOString(),
      untrustedPreview: keepShort(shown),
    },
  }
}

type Confirmed = { input: object; handleId: string; shown: string }

/**
 * Executes a confirmed operation at most once. An operation that accepts an Idempotency-Key answers a repetition with the
 * first answer. For the others the handle is used up before the operation begins, so one that fails needs a new preview.
 */
async function executeOnce(call: McpCall, operation: KeyOperation, confirmed: Confirmed): Promise<unknown> {
  const { input, handleId } = confirmed
  const { idempotent } = operation.meta
  const key = `mcp-${handleId}`
  const request = idempotent
    ? toKeyedRequest({ key, route: operation.procedurePath, input })
    : toKeyedRequest({ key, route: HANDLE_ROUTE, input: [operation.procedurePath, input] })
  const { context, workspaceId } = call
  const scope = context.openScope(call.key, workspaceId, undefined)
  const isRepeated = (await findAnswer(scope, request)) !== undefined
  if (isRepeated && !idempotent) throw usedError()
  if (!isRepeated) await assertUnchanged(call, operation, confirmed)
  if (idempotent) return call.execute(operation, input, key)
  const claimId = randomUUID()
  const { setHeader, chargeKeyedAnswer } = context
  const claimed = await commitOnce(
    { scope, request, setHeader, chargeKeyedAnswer },
    z.object({ claimId: z.string() }),
    (commit) => commit(async () => ({ claimId })),
  )
  if (claimed.claimId !== claimId) throw usedError()
  return call.execute(operation, input)
}

function usedError(): ToolError {
  return new ToolError(`Nothing was done: this handle has been used already. ${AGAIN}`)
}

/** The preview is read again, as what it showed may have been changed meanwhile. @throws ToolError */
async function assertUnchanged(call: McpCall, operation: KeyOperation, { input, shown }: Confirmed): Promise<void> {
  const { bound } = await describeCall(call, operation, input)
  if (hashContent(bound) === shown) return
  throw new ToolError(`Nothing was done: what the preview showed has been changed meanwhile. ${AGAIN}`)
}
