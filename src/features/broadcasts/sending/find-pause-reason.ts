import type { Broadcast as BroadcastRow } from '../../../models/messaging/broadcast.ts'
import type { Scope } from '../../../scope.ts'
import type { PauseReason } from '../../broadcast-recipients/channel-alerts.ts'
import { readCounts } from '../counts.ts'
import type { Counts } from '../schema.ts'

/** A broadcast is paused when more than this share of its messages has failed. */
const FAILURE_RATE_MAX = 0.3
/** Finished messages below which the rate says little. */
const FINISHED_MIN = 20
/** Newest failures whose codes are looked at. */
const NEWEST_MAX = 20

/** Returns the reason to pause a broadcast because of what has become of its messages since it was started or resumed. */
export async function findPauseReason(tx: Scope, broadcast: BroadcastRow): Promise<PauseReason | undefined> {
  const counts = await readCounts(tx, broadcast.id)
  const before = broadcast.resumedCounts ?? {}
  const since = (name: keyof Counts) => counts[name] - (before[name] ?? 0)
  const failed = since('failed')
  if (failed <= 0) return undefined
  if (await hasTemplateFailure(tx, broadcast)) return 'template_paused'
  const finished = failed + since('sent') + since('delivered') + since('read') + since('unknown')
  return finished >= FINISHED_MIN && failed / finished > FAILURE_RATE_MAX ? 'failure_rate' : undefined
}

/** Returns true if the provider refused one of the last failed messages because of the template. */
async function hasTemplateFailure(tx: Scope, { id, updatedAt }: BroadcastRow): Promise<boolean> {
  const rows = await tx.sql<{ code: string }>('hasTemplateFailure')`
    select code from (
       select error ->> 'code' as code, updated_at from broadcast_recipients
       where tenant_id = ${tx.tenantId} and broadcast_id = ${id} and status = 'failed' order by failed_at desc limit ${NEWEST_MAX}) newest
     where updated_at >= ${updatedAt} and code in ('template_paused', 'template_invalid')`
  return rows.length > 0
}
