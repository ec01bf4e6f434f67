import { createHash } from 'node:crypto'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeSystemRows } from '../retention/purge-rows.ts'

const KEPT_MS = 90 * DAY
const KEPT_PER_USER_MAX = 20

/** A salted hash is not needed: the rows are as secret as the addresses of the sessions. */
function hashAddress(addressKey: string): Buffer {
  return createHash('sha256').update(addressKey).digest()
}

export type SignInSubject = { userId: string | null; isKnownAddress: boolean }

/** Finds the user with an e-mail address, and whether the user has signed in from this address before. */
export async function findSignInSubject(
  system: SystemScope,
  { email, addressKey }: { email: string; addressKey: string },
): Promise<SignInSubject> {
  const [subject] = await system.sql<{ userId: string; isKnownAddress: boolean }>('findSignInSubject')`
    select u.id as user_id, exists (
      select from known_addresses k where k.user_id = u.id and k.address_hash = ${hashAddress(addressKey)}
        and k.seen_at > ${addMs(system.now(), -KEPT_MS)}) as is_known_address
    from users u where u.email = ${email}`
  return subject ?? { userId: null, isKnownAddress: false }
}

/** Remembers the address of a successful sign-in, and forgets the oldest beyond the limit. */
export async function rememberAddress(tx: SystemScope, userId: string, addressKey: string): Promise<void> {
  await tx
    .db('known_addresses')
    .insert({ user_id: userId, address_hash: hashAddress(addressKey), seen_at: tx.now() })
    .onConflict(['user_id', 'address_hash'])
    .merge()
  await tx.sql('rememberAddress')`
    delete from known_addresses where user_id = ${userId} and address_hash in (
       select address_hash from known_addresses where user_id = ${userId}
       order by seen_at desc, address_hash offset ${KEPT_PER_USER_MAX})`
}

/** Deletes addresses that have not been used for 90 days. */
export async function purgeKnownAddresses(system: SystemScope): Promise<void> {
  const isOld = sqlFragment`seen_at < ${addMs(system.now(), -KEPT_MS)}`
  await purgeSystemRows(system, { table: sqlFragment`known_addresses`, isOld })
}
