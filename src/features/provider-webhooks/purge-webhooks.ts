import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

/** Retention of webhook bodies: as long as the provider repeats a call. */
export const WEBHOOK_RETENTION_MS = 7 * DAY
const BATCH = 1000
const BATCHES_MAX = 100

/** Deletes old webhook bodies in batches; running it concurrently or repeatedly is safe. */
export async function purgeWebhooks(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -WEBHOOK_RETENTION_MS)
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const old = system.db('channel_webhooks').where('created_at', '<', oldest).select('tenant_id', 'id').limit(BATCH)
    const deleted = await system.db('channel_webhooks').whereIn(['tenant_id', 'id'], old).delete()
    if (deleted < BATCH) return
  }
}
