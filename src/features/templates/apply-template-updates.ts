import type { TemplateUpdate } from '../../channels/channel.ts'
import { Template as TemplateRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Event, TemplateEventType } from '../../scope/event-types.ts'

type Columns = Partial<TemplateRow>

/**
 * Applies changes of templates that the provider reports. Templates belong to the provider's account, so a report is
 * applied to those of all channels of the account; one that nobody knows yet is left to the next synchronization.
 */
export async function applyTemplateUpdates(tx: Scope, channelId: string, updates: TemplateUpdate[]): Promise<void> {
  for (const update of updates) {
    const rows = await findRows(tx, channelId, update)
    for (const row of rows) {
      const columns = toColumns(row, update)
      if (Object.keys(columns).length === 0) continue
      const { providerTemplateId } = update
      await tx
        .query(TemplateRow)
        .findOne('id', row.id)
        .patch({ ...columns, ...(providerTemplateId === null ? {} : { providerTemplateId }), updatedAt: tx.now() })
      await tx.record(...listEvents(row, columns))
    }
  }
}

/** A template that is being submitted has no ID of the provider yet: it is found by its name and language. */
async function findRows(tx: Scope, channelId: string, update: TemplateUpdate): Promise<TemplateRow[]> {
  const { providerTemplateId, name, language } = update
  return await tx
    .query(TemplateRow)
    .where((either) => {
      if (providerTemplateId !== null) void either.where({ providerTemplateId })
      if (name === null || language === null) return
      void either.orWhere((named) => {
        void named.where({ channelId, name, language })
        if (providerTemplateId !== null) void named.whereNull('providerTemplateId')
      })
    })
    .orderBy('id')
    .forUpdate()
}

function toColumns(row: TemplateRow, { change, at }: TemplateUpdate): Columns {
  switch (change.kind) {
    case 'status': {
      // Reports arrive in any order, and a later one may have been applied already.
      const isOutdated = at !== null && row.statusReportedAt !== null && at < row.statusReportedAt
      if (change.status === null || isOutdated) return {}
      const hasReason = ['rejected', 'paused', 'disabled'].includes(change.status)
      return {
        status: change.status,
        rejectionReason: hasReason ? change.reason : null,
        ...(at === null ? {} : { statusReportedAt: at }),
      }
    }
    case 'quality':
      return { quality: change.quality === 'unknown' ? null : change.quality }
    case 'category':
      return change.isPending
        ? { suggestedCategory: change.category }
        : { category: change.category, suggestedCategory: null }
    case 'components':
      // The report does not have the new text: the template counts as not synchronized.
      return { lastSyncedAt: null }
  }
}

function listEvents(row: TemplateRow, columns: Columns): Event[] {
  const data = { templateId: row.id }
  const isChanged = (key: keyof TemplateRow) => key in columns && columns[key] !== row[key]
  const events: [boolean, TemplateEventType][] = [
    [isChanged('status'), 'template.status_changed'],
    [isChanged('quality'), 'template.quality_changed'],
    [isChanged('category') || isChanged('suggestedCategory'), 'template.category_changed'],
  ]
  return events.flatMap(([applies, type]) => (applies ? [{ type, data }] : []))
}
