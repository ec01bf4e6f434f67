import { createHash } from 'node:crypto'
import { middlewareMarker, type MiddlewareResult } from '@trpc/server/unstable-core-do-not-import'
import superjson, { type SuperJSONResult } from 'superjson'
import { ConflictError, InvalidError, UnprocessableError } from '../platform/errors.ts'
import type { Scope } from '../scope.ts'

const KEY = /^[\x21-\x7e]{1,255}$/

type Keyed = { key: string; route: string; hash: Buffer }

/**
 * Runs a call at most once for a key. The key, the call's effects and its answer commit together, so a process killed
 * half-way leaves none of them and the caller may simply try again. A refused call leaves no key behind.
 */
export async function runOnce<C>(call: {
  scope: Scope
  key: string
  route: string
  getRawInput: () => Promise<unknown>
  setHeader: (name: string, value: string) => void
  proceed: (scope: Scope) => Promise<MiddlewareResult<C>>
}): Promise<MiddlewareResult<C>> {
  const keyed = { key: call.key, route: call.route, hash: hashOf(await call.getRawInput()) }
  if (!KEY.test(keyed.key)) {
    throw new InvalidError(
      'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
      undefined,
      'invalid_idempotency_key',
    )
  }
  let refused: MiddlewareResult<C> | undefined
  const rollback = new Error('the call was refused')
  try {
    return await call.scope.transaction(async (tx) => {
      const recorded = await claim(tx, keyed)
      if (recorded) {
        call.setHeader('Idempotency-Replayed', 'true')
        return { marker: middlewareMarker, ok: true, data: superjson.deserialize(recorded) }
      }
      const result = await call.proceed(tx)
      if (!result.ok) {
        refused = result
        throw rollback
      }
      await settle(tx, keyed, superjson.serialize(result.data))
      return result
    })
  } catch (error) {
    if (error === rollback && refused) return refused
    throw error
  }
}

function hashOf(input: unknown): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(input) ?? 'null')
    .digest()
}

/** The answer recorded for the key, or undefined once the key is ours. */
async function claim(tx: Scope, { key, route, hash }: Keyed): Promise<SuperJSONResult | undefined> {
  const lock = await tx.db.raw<{ rows: { locked: boolean }[] }>(
    'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as locked',
    [`${tx.tenantId}\n${route}\n${key}`],
  )
  if (!lock.rows[0]?.locked) {
    throw new ConflictError('idempotency_in_progress', 'A request with this Idempotency-Key is still running')
  }
  const row = { tenant_id: tx.tenantId, route, key }
  const existing = await tx
    .db('idempotency_keys')
    .where(row)
    .first<{ request_hash: Buffer; response: SuperJSONResult }>()
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

async function settle(tx: Scope, { key, route }: Keyed, response: SuperJSONResult): Promise<void> {
  await tx
    .db('idempotency_keys')
    .where({ tenant_id: tx.tenantId, route, key })
    .update({ response: JSON.stringify(response) })
}
