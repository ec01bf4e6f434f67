import { ConflictError } from '../../platform/errors.ts'
import { NIL_ID } from '../../platform/ids.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { hashToken } from '../../platform/security/tokens.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeSystemRows } from '../retention/purge-rows.ts'

/**
 * The second factor of a user. It is enabled by the first code that proves that the app has the secret. `createdAt` stays
 * with a secret, which the rotation of the secret key seals again.
 */
export type TwoFactor = { userId: string; sealedSecret: Buffer; createdAt: Date; isEnabled: boolean }

/** True in the rows of `users u` with a second factor that is enabled. */
export const isTwoFactorEnabledSql = sqlFragment`exists (
  select from two_factors f where f.user_id = u.id and f.enabled_at is not null)`

export async function findTwoFactor(system: SystemScope, userId: string): Promise<TwoFactor | undefined> {
  const [found] = await system.sql<TwoFactor>('findTwoFactor')`
    select user_id, sealed_secret, created_at, enabled_at is not null as is_enabled from two_factors where user_id = ${userId}`
  return found
}

/** The name under which wrong codes of an account are counted. */
export function toGuessName(userId: string): string {
  return `two-factor ${userId}`
}

/** Deletes a second factor that was never verified, of whose secret somebody else may have a copy. */
export async function deletePending(tx: SystemScope, userId: string): Promise<void> {
  await tx.sql('deletePendingTwoFactor')`delete from two_factors where user_id = ${userId} and enabled_at is null`
}

/** Second factors that are compared with the accounts at once. */
const USERS_MAX = 1000

/** Deletes second factors that were not verified within a day, and those of deleted accounts. */
export async function purgeTwoFactors(system: SystemScope): Promise<void> {
  await purgeSystemRows(system, {
    table: sqlFragment`two_factors`,
    isOld: sqlFragment`enabled_at is null and created_at < ${addMs(system.now(), -DAY)}`,
  })
  let after: string = NIL_ID
  for (;;) {
    const rows = await system.sql<{ userId: string }>('listTwoFactors')`
      select user_id from two_factors where user_id > ${after} order by user_id limit ${USERS_MAX}`
    const userIds = rows.map(({ userId }) => userId)
    const deleted = await listDeletedUsers(system, userIds)
    if (deleted.length > 0)
      await system.sql('deleteTwoFactors')`delete from two_factors where user_id = any(${deleted}::uuid[])`
    after = userIds.at(-1) ?? after
    if (userIds.length < USERS_MAX) return
  }
}

/** Returns those without an account. A statement of its own: a distributed database joins local tables with no other. */
export async function listDeletedUsers(system: SystemScope, userIds: string[]): Promise<string[]> {
  const users = await system.sql<{ id: string }>('listUsers')`select id from users where id = any(${userIds}::uuid[])`
  const existing = new Set(users.map(({ id }) => id))
  return userIds.filter((id) => !existing.has(id))
}

/** Context that binds a sealed secret to its user. */
export function sealContext(userId: string): string {
  return `two-factor:${userId}`
}

export function sealTotpSecret({ secrets }: SystemScope, userId: string, secret: string): Buffer {
  return secrets.seal(secret, sealContext(userId))
}

/** Decrypts the secret. @throws ConflictError `two_factor_unreadable` if it was encrypted with another key */
export function openTotpSecret({ secrets, log }: SystemScope, { userId, sealedSecret }: TwoFactor): string {
  try {
    return String(secrets.open(sealedSecret, sealContext(userId)))
  } catch (cause) {
    log.error({ event: 'secret_unreadable', err: cause, userId }, 'the secret of a second factor cannot be decrypted')
    const message =
      'The secret of the second factor cannot be decrypted any more. Sign in with a recovery code, disable the second factor and enable it again, or ask the operator'
    throw new ConflictError('two_factor_unreadable', message, undefined, { cause })
  }
}

/** People type codes with or without dashes and capitals. */
export function hashRecoveryCode(code: string): Buffer {
  return hashToken(code.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
}

/**
 * Accepts a code of a time step, and enables the second factor if it is the first one. Returns false if a code of this step
 * or a later one was accepted before, or the secret was replaced. Of concurrent calls the row lets one through.
 */
export async function acceptStep(tx: SystemScope, { userId, createdAt }: TwoFactor, step: number): Promise<boolean> {
  const accepted = await tx.sql('acceptTotpStep')`
    update two_factors set last_step = ${step}, enabled_at = coalesce(enabled_at, ${tx.now()})
    where user_id = ${userId} and created_at = ${createdAt} and last_step < ${step} returning 1`
  return accepted.length > 0
}

/** Removes a recovery code. Returns false if there is none; of concurrent calls one removes it. */
export async function useRecoveryCode(tx: SystemScope, { userId }: TwoFactor, hash: Buffer): Promise<boolean> {
  const used = await tx.sql('useRecoveryCode')`
    update two_factors set recovery_hashes = array_remove(recovery_hashes, ${hash}::bytea)
    where user_id = ${userId} and enabled_at is not null and ${hash}::bytea = any(recovery_hashes) returning 1`
  return used.length > 0
}
