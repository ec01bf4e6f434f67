import { Contact } from '../../models/contact.ts'
import { Group } from '../../models/group.ts'
import { Tag } from '../../models/tag.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Audience, Broadcast } from './schema.ts'

/**
 * The audience with each id once, all of them this workspace's own. Who is in the groups and has the tags is not asked
 * yet: that is settled when the broadcast starts.
 * @throws NotFoundError
 */
export async function resolveAudience(scope: Scope, audience: Audience): Promise<Broadcast['audience']> {
  return {
    groupIds: await resolve(scope, Group, audience.groupIds),
    tagIds: await resolve(scope, Tag, audience.tagIds),
    contactIds: await resolve(scope, Contact, audience.contactIds),
  }
}

async function resolve(
  scope: Scope,
  model: typeof Group | typeof Tag | typeof Contact,
  ids: string[] = [],
): Promise<string[]> {
  if (!ids.every(isUuid)) throw new NotFoundError(model.name)
  const wanted = [...new Set(ids.map((id) => id.toLowerCase()))]
  const found =
    wanted.length === 0 ? 0 : await scope.query<Group | Tag | Contact>(model).whereIn('id', wanted).resultSize()
  if (found < wanted.length) throw new NotFoundError(model.name)
  return wanted
}
