import { createHash } from 'node:crypto'
import { middlewareMarker, type MiddlewareResult } from '@trpc/server/unstable-core-do-not-import'
import type { z } from 'zod'
import { InProgressError, InvalidError, LimitExceededError, UnprocessableError } from '../platform/errors.ts'
import type { Scope } from '../scope/scope.ts'
import type { RequestContext } from './context.ts'
import { createSelect } from './select-output.ts'
import { type Serialized, transformer } from './transformer.ts'

/** Caller of the answers that processes of the version before have stored, while both are at work. */
const ANY_CALLER = '00000000-0000-0000-0000-000000000000'

const KEY = /^[\x21-\x7e]{1,255}$/

/** The first request of a member or API key with an idempotency key, or a repetition of it. */
export type KeyedRequest = { key: string; route: string; hash: Buffer }

/** Writes what a call changes, in one transaction, and returns the answer of the call. */
export type Commit = <T>(work: (tx: Scope) => Promise<T>) => Promise<T>

/** Makes a call with the function that commits its changes, at most once if the request has a key. */
export type Once = <T>(output: z.ZodType<T>, call: (commit: Commit) => Promise<T>) => Promise<T>

type Answering = Pick<RequestContext, 'setHeader' | 'chargeKeyedAnswer'>

/** @throws InvalidError `invalid_idempotency_key` */
export function toKeyedRequest({ key, route, input }: { key: string; route: string; input: unknown }): KeyedRequest {
  if (KEY.test(key)) return { key, route, hash: hashInput(input) }
  throw new InvalidError(
    'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
    undefined,
    'invalid_idempotency_key',
  )
}

/**
 * Runs a call at most once per key. The key, the effects of the call and its answer commit together, so a process that
 * is killed halfway leaves none of them and the caller may retry. A failed call leaves no key behind. The call has the
 * connection of the transaction for as long as it takes, so it waits for nothing but the database.
 */
export async function runOnce<C>(
  scope: Scope,
  request: KeyedRequest,
  { setHeader, chargeKeyedAnswer, proceed }: Answering & { proceed: (scope: Scope) => Promise<MiddlewareResult<C>> },
): Promise<MiddlewareResult<C>> {
  let failed: MiddlewareResult<C> | undefined
  const rollback = new Error('the call failed')
  try {
    return await scope.transaction(async (tx) => {
      const recorded = await claim(tx, request)
      if (recorded) return { marker: middlewareMarker, ok: true, data: replayIn(tx, recorded, setHeader) }
      const result = await call(tx)
      await recordAnswer(tx, request, { answer: result.data, chargeKeyedAnswer })
      return result
    })
  } catch (error) {
    if (error === rollback && failed) return failed
    throw error
  }

  async function call(tx: Scope) {
    const result = await proceed(tx)
    if (result.ok) return result
    failed = result
    throw rollback
  }
}

/**
 * Runs a call whose commit happens at most once per key, as `runOnce` does, except that it has no connection before its
 * commit: until then it may wait for something else, such as a compute thread. What the commit returns is the answer.
 * Repetitions that begin before the first commit has ended wait as well.
 */
export async function commitOnce<T>(
  { scope, request, setHeader, chargeKeyedAnswer }: { scope: Scope; request: KeyedRequest } & Answering,
  output: z.ZodType<T>,
  call: (commit: Commit) => Promise<T>,
): Promise<T> {
  const select = createSelect(output)
  const recorded = await findAnswer(scope, request)
  if (recorded) return replay(recorded, setHeader) as T
  return call((work) =>
    scope.transaction(async (tx) => {
      const recordedMeanwhile = await claim(tx, request)
      if (recordedMeanwhile) return replayIn(tx, recordedMeanwhile, setHeader) as Awaited<ReturnType<typeof work>>
      const answer = await work(tx)
      await recordAnswer(tx, request, { answer: select(answer), chargeKeyedAnswer })
      return answer
    }),
  )
}

function replay(recorded: Serialized, setHeader: Answering['setHeader']): unknown {
  setHeader('Idempotency-Replayed', 'true')
  return transformer.output.deserialize(recorded)
}

/** A repetition changes nothing, so it is not audited again. */
function replayIn(tx: Scope, recorded: Serialized, setHeader: Answering['setHeader']): unknown {
  tx.audit?.drop()
  return replay(recorded, setHeader)
}

function hashInput(input: unknown): Buffer {
  return createHash('sha256')
    .update(JSON.stringify(input) ?? 'null')
    .digest()
}

/** Returns the answer recorded for the key, or claims the key for this call and returns undefined. */
async function claim(tx: Scope, request: KeyedRequest): Promise<Serialized | undefined> {
  const { key, route, hash } = request
  const [lock] = await tx.sql<{ isLocked: boolean }>('lockIdempotencyKey')`
    select pg_try_advisory_xact_lock(hashtextextended(${`${tx.tenantId}\n${route}\n${key}`}, 0)) as is_locked`
  if (!lock?.isLocked) {
    const message = 'A request with this Idempotency-Key is still running. Send it again in a second to get its answer'
    throw new InProgressError('idempotency_in_progress', message)
  }
  const existing = await findAnswer(tx, request)
  if (existing) return existing
  await tx.sql('claimIdempotencyKey')`
    insert into idempotency_keys (tenant_id, route, key, caller_id, request_hash, created_at)
    values (${tx.tenantId}, ${route}, ${key}, ${tx.actor.id}, ${hash}, ${tx.now()})`
  return undefined
}

/** @throws UnprocessableError `idempotency_key_reused` */
export async function findAnswer(scope: Scope, { key, route, hash }: KeyedRequest): Promise<Serialized | undefined> {
  const [existing] = await scope.sql<{ requestHash: Buffer; response: Serialized }>('findAnswer')`
    select request_hash, response from idempotency_keys
    where tenant_id = ${scope.tenantId} and route = ${route} and key = ${key}
      and caller_id in (${scope.actor.id}, ${ANY_CALLER}) order by caller_id desc limit 1`
  if (!existing || existing.requestHash.equals(hash)) return existing?.response
  throw new UnprocessableError(
    'idempotency_key_reused',
    'This Idempotency-Key was used with another request. Use a new key for a new request',
  )
}

/** @throws LimitExceededError `too_many_keyed_answers`, which undoes the call */
async function recordAnswer(
  tx: Scope,
  { key, route }: KeyedRequest,
  { answer, chargeKeyedAnswer }: { answer: unknown } & Pick<Answering, 'chargeKeyedAnswer'>,
): Promise<void> {
  const response = JSON.stringify(transformer.output.serialize(answer))
  const { allowed, state } = await chargeKeyedAnswer(tx.tenantId, Buffer.byteLength(response))
  if (!allowed) {
    throw new LimitExceededError(
      'too_many_keyed_answers',
      `A workspace keeps at most ${state.limit / 1024 ** 2} GB of answers to requests with an Idempotency-Key in a day. Send the request without one, or later`,
      state.resetSeconds,
    )
  }
  await tx.sql('keepAnswer')`
    update idempotency_keys set response = ${response}
    where tenant_id = ${tx.tenantId} and route = ${route} and key = ${key} and caller_id = ${tx.actor.id}`
}
