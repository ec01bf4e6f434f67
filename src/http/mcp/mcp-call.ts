import { TRPCError } from '@trpc/server'
import { z } from 'zod'
import { ForbiddenError } from '../../platform/errors.ts'
import type { AppRouter } from '../../router.ts'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import { recordRefusal } from '../../trpc/audit.ts'
import type { KeyCaller } from '../../trpc/caller.ts'
import type { RequestContext } from '../../trpc/context.ts'
import { listOperations, type Operation } from '../rest.ts'

/** An operation that API keys may call, with the scope for it. */
export type KeyOperation = Operation & { scope: ApiScope }

/**
 * The operations by their IDs in the OpenAPI document, without those for people only and those whose answer has a secret,
 * which a model and the service that stores its conversations would learn.
 */
export function listKeyOperations(router: AppRouter): ReadonlyMap<string, KeyOperation> {
  const operations = listOperations(router).flatMap((operation): [string, KeyOperation][] => {
    const { scope } = operation.meta
    return scope && !REVEALING.has(operation.procedurePath) ? [[operation.procedurePath, { ...operation, scope }]] : []
  })
  return new Map(operations)
}

/** Operations whose answers have a secret. */
export const REVEALING: ReadonlySet<string> = new Set([
  'apiKeys.create',
  'apiKeys.rotate',
  'webhookEndpoints.create',
  'webhookEndpoints.rotateSecret',
  'workflows.rotateWebhookSecret',
])

/** Returns true if the operation changes nothing: a query, or a computation that stores nothing. */
export function isReading({ procedure, scope }: KeyOperation): boolean {
  return procedure._def.type === 'query' || scope.endsWith(':read')
}

/** The API key of a request, and the operations that keys may call. */
export type McpCaller = {
  router: AppRouter
  operations: ReadonlyMap<string, KeyOperation>
  context: RequestContext
  key: KeyCaller
  workspaceId: string
}

/** One call of a tool, with the rights of the API key. */
export class McpCall {
  readonly context: RequestContext
  readonly key: KeyCaller
  readonly workspaceId: string
  readonly operations: ReadonlyMap<string, KeyOperation>
  /** The procedures, with their checks. */
  readonly api: ReturnType<AppRouter['createCaller']>
  readonly #signal: AbortSignal

  constructor({ router, operations, context, key, workspaceId }: McpCaller, signal: AbortSignal) {
    // That of a request would be the key of every procedure that a tool calls.
    this.context = { ...context, idempotencyKey: null }
    this.key = key
    this.workspaceId = workspaceId
    this.operations = operations
    this.api = router.createCaller(this.context, { signal })
    this.#signal = signal
  }

  /** @throws TypeError for an ID that no operation has */
  get(operationId: string): KeyOperation {
    const operation = this.operations.get(operationId)
    if (!operation) throw new TypeError(`There is no operation ${operationId}`)
    return operation
  }

  may(scope: ApiScope): boolean {
    return this.key.key.scopes.has(scope)
  }

  /** Reads something that the key may not be allowed to read. */
  async readIf<T>(scope: ApiScope, read: () => Promise<T>): Promise<T | undefined> {
    return this.may(scope) ? read() : undefined
  }

  /** Refuses as the procedure would, before anything is read for its preview. @throws ForbiddenError */
  async assertMay({ scope, procedurePath, meta, procedure }: KeyOperation): Promise<void> {
    if (this.may(scope)) return
    if (procedure._def.type === 'mutation')
      await recordRefusal(this.context, this.context, meta.action ?? procedurePath)
    throw new ForbiddenError(undefined, undefined, { error: 'insufficient_scope', scope })
  }

  /** Calls an operation as its REST path does. */
  execute({ procedure, procedurePath }: KeyOperation, input: object, idempotencyKey: string | null = null) {
    return procedure({
      path: procedurePath,
      type: procedure._def.type,
      ctx: { ...this.context, idempotencyKey },
      getRawInput: async () => input,
      input: undefined,
      signal: this.#signal,
      batchIndex: 0,
    })
  }
}

/** Rejects the input as the procedure would. @throws TRPCError */
export function assertInput({ procedure }: KeyOperation, input: object): void {
  const [schema] = procedure._def.inputs
  const error = schema instanceof z.ZodType ? schema.safeParse(input).error : undefined
  if (error) throw new TRPCError({ code: 'BAD_REQUEST', cause: error })
}
