import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { broadcastQuery, toBroadcast } from './broadcast-query.ts'
import type { Broadcast, BroadcastRef } from './schema.ts'

export async function getBroadcast(scope: Scope, { id }: BroadcastRef): Promise<Broadcast> {
  const row = isUuid(id) ? await broadcastQuery(scope).findOne('broadcasts.id', id) : undefined
  if (!row) throw new NotFoundError('Broadcast')
  return toBroadcast(row)
}
