import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { broadcastQuery, toBroadcast } from './broadcast-query.ts'
import type { Broadcast, ListBroadcasts } from './schema.ts'

export async function listBroadcasts(scope: Scope, { limit, offset }: ListBroadcasts): Promise<Page<Broadcast>> {
  const [total, rows] = await Promise.all([
    scope.query(BroadcastRow).resultSize(),
    broadcastQuery(scope)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map(toBroadcast), total }
}
