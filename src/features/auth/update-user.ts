import { definedFields } from '../../platform/fields.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { UserCaller } from '../../trpc/caller.ts'
import type { Done, UpdateUser } from './schema.ts'

/** Changes name and image of the caller. Cached sessions, which have both, are read again. */
export async function updateUser(
  { system, caller }: { system: SystemScope; caller: UserCaller },
  { name, image }: UpdateUser,
): Promise<Done> {
  await system
    .db('users')
    .where('id', caller.user.id)
    .update({ ...definedFields({ name, image }), updated_at: system.now() })
  system.notifications.publish('revocations', caller.user.id)
  return { status: true }
}
