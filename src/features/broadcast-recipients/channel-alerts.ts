import { selectRows } from '../../platform/database/sql.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

export type PauseReason = 'user' | 'quality' | 'template_paused' | 'billing' | 'auth' | 'account' | 'failure_rate'

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
  await tx
    .db('channel_alerts')
    .insert({ tenant_id: tx.tenantId, id: newId(), channel_id: channelId, code, created_at: tx.now() })
}

/** Removes the recorded errors of a channel and returns the reason to pause its broadcasts, if there is one. */
export async function takeChannelAlerts(tx: Scope, channelId: string): Promise<PauseReason | undefined> {
  const alerts = await selectRows<{ code: string }>(
    tx.db,
    'delete from channel_alerts where tenant_id = ? and channel_id = ? returning code',
    [tx.tenantId, channelId],
  )
  const [alert] = alerts
  return alert && REASONS.get(alert.code)
}
