import { createHash } from 'node:crypto'
import { middlewareMarker, type MiddlewareResult } from '@trpc/server/unstable-core-do-not-import'
import { ConflictError, InvalidError, UnprocessableError } from '../platform/errors.ts'
import type { Scope } from '../scope.ts'
import { type Serialized, transformer } from './transformer.ts'

const KEY = /^[\x21-\x7e]{1,255}$/

type KeyedRequest = { key: string; route: string; hash: Buffer }

/**
 * Runs a call at most once per key. The key, the effects of the call and its answer commit together, so a process that
 * is killed halfway leaves none of them and the caller may retry. A failed call leaves no key behind.
 */
export async function runOnce<C>(call: {
  scope: Scope
  key: string
  route: string
  getRawInput: () => Promise<unknown>
  setHeader: (name: string, value: string) => void
  proceed: (scope: Scope) => Promise<MiddlewareResult<C>>
}): Promise<MiddlewareResult<C>> {
  const request = { key: call.key, route: call.route, hash: hashInput(await call.getRawInput()) }
  if (!KEY.test(request.key)) {
    throw new InvalidError(
      'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
      undefined,
      'invalid_idempotency_key',
    )
  }
  let failed: MiddlewareResult<C> | undefined
  const rollback = new Error('the call failed')
  try {
    return await call.scope.transaction(async (tx) => {
      const recorded = await claim(tx, request)
      if (recorded) {
        call.setHeader('Idempotency-Replayed', 'true')
        return { marker: middlewareMarker, ok: true, data: transformer.output.deserialize(recorded) }
      }
      const result = await call.proceed(tx)
      if (!result.ok) {
        failed = result
        throw rollback
      }
      await recordAnswer(tx, request, transformer.output.serialize(result.data))
      return result
    })
  } catch (error) {
    if (error === rollback && failed) return failed
    throw error
  }
}

function hashInput(input: unknown): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(input) ?? 'null')
    .digest()
}

/** Returns the answer recorded for the key, or claims the key for this call and returns undefined. */
async function claim(tx: Scope, { key, route, hash }: KeyedRequest): Promise<Serialized | undefined> {
  const [lock] = await tx.sql<{ isLocked: boolean }>('lockIdempotencyKey')`
    select pg_try_advisory_xact_lock(hashtextextended(${`${tx.tenantId}\n${route}\n${key}`}, 0)) as is_locked`
  if (!lock?.isLocked) {
    throw new ConflictError('idempotency_in_progress', 'A request with this Idempotency-Key is still running')
  }
  const row = { tenant_id: tx.tenantId, route, key }
  const existing = await tx.db('idempotency_keys').where(row).first<{ request_hash: Buffer; response: Serialized }>()
  if (!existing) {
    await tx.db('idempotency_keys').insert({ ...row, request_hash: hash, created_at: tx.now() })
    return undefined
  }
  if (!existing.request_hash.equals(hash)) {
    throw new UnprocessableError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another request. Use a new key for a new request',
    )
  }
  return existing.response
}

async function recordAnswer(tx: Scope, { key, route }: KeyedRequest, response: Serialized): Promise<void> {
  await tx
    .db('idempotency_keys')
    .where({ tenant_id: tx.tenantId, route, key })
    .update({ response: JSON.stringify(response) })
}
