import type { TemplateUpdate } from '../../channels/channel.ts'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'

/** Statuses that a stored template can have, as far as a provider sets them. */
const STATUSES = ['pending', 'approved', 'rejected', 'paused', 'disabled']

/** Applies changes of a channel's templates that the provider reports, in order. Unknown templates are skipped. */
export async function applyTemplateUpdates(tx: Scope, channelId: string, updates: TemplateUpdate[]): Promise<void> {
  for (const { name, language, change } of updates) {
    if (change.kind !== 'status' || change.status === null || !STATUSES.includes(change.status)) continue
    const { status } = change
    const changed = await selectRows<{ id: string }>(
      tx.db,
      `update templates set status = :status, updated_at = :now
       where tenant_id = :tenantId and channel_id = :channelId and name = :name and language = :language
         and status <> :status returning id`,
      { tenantId: tx.tenantId, channelId, name, language, status, now: tx.now() },
    )
    await tx.record(...changed.map(({ id }) => ({ type: `template.${status}` as const, data: { templateId: id } })))
  }
}
