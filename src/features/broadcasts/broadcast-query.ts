import { raw } from 'objection'
import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import type { Scope } from '../../scope.ts'
import type { Broadcast, Counts } from './schema.ts'

export const NO_COUNTS: Counts = {
  total: 0,
  pending: 0,
  sending: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  unknown: 0,
}

const TEMPLATE = raw(`(
  select json_build_object('id', t.id, 'name', t.name, 'language', t.language) from templates t
  where t.tenant_id = broadcasts.tenant_id and t.id = broadcasts.template_id) as template`)

export function broadcastQuery(scope: Scope) {
  return scope.query(BroadcastRow).select('broadcasts.*', TEMPLATE)
}

export function toBroadcast(row: BroadcastRow): Broadcast {
  return {
    ...(row as BroadcastRow & Pick<Broadcast, 'template'>),
    audience: { groupIds: [], tagIds: [], contactIds: [], ...row.audience },
    counts: { ...NO_COUNTS, ...row.counts },
  }
}
