import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'

export type PauseReason =
  'user' | 'quality' | 'template_paused' | 'billing' | 'auth' | 'account' | 'failure_rate' | 'restored'

/** Error codes after which broadcasts are paused until somebody resumes them, and the reason that they state. */
const REASONS = new Map<string, PauseReason>([
  ['quality_limited', 'quality'],
  ['payment_required', 'billing'],
  ['credential_invalid', 'auth'],
  ['account_locked', 'account'],
  ['policy_violation', 'account'],
  ['country_restricted', 'account'],
])

/** Records an error that concerns a whole channel, if broadcasts must be paused for it. Nothing is locked. */
export async function recordChannelAlert(tx: Scope, channelId: string, code: string): Promise<void> {
  if (!REASONS.has(code)) return
  await tx.sql('recordChannelAlert')`
    insert into channel_alerts (tenant_id, id, channel_id, code, created_at)
    values (${tx.tenantId}, ${newId()}, ${channelId}, ${code}, ${tx.now()})`
}

export type ChannelAlert = { reason: PauseReason; at: Date }

/**
 * Returns the newest recorded error of a channel, if there is one, and removes it and those before: they are acted on once.
 * Those of a degraded channel stay until it is repaired, as the reason why its broadcasts stop.
 */
export async function takeChannelAlerts(tx: Scope, channelId: string): Promise<ChannelAlert | undefined> {
  const alert = await findChannelAlert(tx, channelId)
  if (!alert) return undefined
  await tx.sql('removeChannelAlerts')`
    delete from channel_alerts
    where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and created_at <= ${alert.at} and not exists (
      select from channels where tenant_id = ${tx.tenantId} and id = ${channelId} and status = 'degraded')`
  return alert
}

/** Returns the newest recorded error of a channel. */
export async function findChannelAlert(tx: Scope, channelId: string): Promise<ChannelAlert | undefined> {
  const rows = await tx.sql<{ code: string; createdAt: Date }>('findChannelAlert')`
    select code, created_at from channel_alerts where tenant_id = ${tx.tenantId} and channel_id = ${channelId}
     order by created_at desc, id desc limit 1`
  return rows.flatMap(({ code, createdAt }) => toAlert(code, createdAt))[0]
}

function toAlert(code: string, at: Date): ChannelAlert[] {
  const reason = REASONS.get(code)
  return reason ? [{ reason, at }] : []
}
