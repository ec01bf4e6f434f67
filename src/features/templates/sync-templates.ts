import type { ProviderTemplate, TemplateProvider } from '../../channels/channel.ts'
import { Channel, Template as TemplateRow } from '../../models/messaging.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { BadGatewayError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { sortKeys } from '../../platform/sort-keys.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SyncResult, SyncTemplates } from './schema.ts'
import { contentColumns } from './template-columns.ts'
import { loadTemplateProvider } from '../channels/load-channel.ts'

/** More than a business account may have. */
const PAGES_MAX = 100
const SYNC_MS_MAX = 45 * SECOND

/**
 * Makes the templates of a channel equal to those of its provider: creates and updates them, and marks those as deleted
 * that the provider does not have any more. Each page is committed by itself; repeating it changes nothing. Drafts that
 * the provider does not know stay as they are. Concurrent calls for a channel share one synchronization.
 * @throws BadGatewayError `provider_error`
 */
export function syncTemplates(scope: Scope, { channelId }: SyncTemplates): Promise<SyncResult> {
  return scope.singleFlight(`sync-templates ${channelId}`, () => syncChannel(scope, channelId))
}

async function syncChannel(scope: Scope, channelId: string): Promise<SyncResult> {
  const provider = await loadTemplateProvider(scope, channelId)
  const result: SyncResult = { total: 0, created: 0, updated: 0, deleted: 0, skipped: 0 }
  if (!provider) return result
  const startedAt = scope.now()
  for await (const { templates, skipped } of listPages(scope, provider)) {
    result.total += templates.length + skipped
    result.skipped += skipped
    const { created, updated } = await scope.transaction((tx) => storePage(tx, channelId, templates))
    result.created += created
    result.updated += updated
  }
  // A template that cannot be read is not deleted, so nothing is while there are some.
  if (result.skipped === 0) result.deleted = await scope.transaction((tx) => markDeleted(tx, channelId, startedAt))
  return result
}

type Page = Awaited<ReturnType<TemplateProvider['listPage']>>

async function* listPages(scope: Scope, provider: TemplateProvider): AsyncGenerator<Page> {
  const until = addMs(scope.now(), SYNC_MS_MAX)
  let cursor: string | null = null
  for (let count = 0; count < PAGES_MAX && scope.now() < until; count += 1) {
    const page: Page = await provider.listPage(cursor)
    yield page
    if (page.next === null) return
    cursor = page.next
  }
  throw new BadGatewayError(
    'provider_error',
    'WhatsApp lists too many templates, or lists them too slowly. Those listed so far are synchronized; try again later',
  )
}

async function storePage(
  tx: Scope,
  channelId: string,
  templates: ProviderTemplate[],
): Promise<{ created: number; updated: number }> {
  await tx.lock(Channel, channelId)
  const names = templates.map(({ name }) => name)
  const ids = templates.map(({ providerTemplateId }) => providerTemplateId)
  const rows = await tx
    .query(TemplateRow)
    .where({ channelId })
    .where((either) => either.whereIn('name', names).orWhereIn('providerTemplateId', ids))
    .orderBy('id')
    .forUpdate()
  const changes = templates.map((template) => ({ template, row: findRow(rows, template) }))
  const created = changes.filter(({ row }) => row === undefined).map(({ template }) => template)
  await insertTemplates(tx, channelId, created)
  let updated = 0
  for (const { template, row } of changes) if (row && (await updateTemplate(tx, row, template))) updated += 1
  const seen = rows.filter((row) => changes.some((change) => change.row === row)).map(({ id }) => id)
  await tx.query(TemplateRow).whereIn('id', seen).patch({ lastSyncedAt: tx.now() })
  return { created: created.length, updated }
}

function findRow(
  rows: TemplateRow[],
  { providerTemplateId, name, language }: ProviderTemplate,
): TemplateRow | undefined {
  return (
    rows.find((row) => row.providerTemplateId === providerTemplateId) ??
    rows.find((row) => row.name === name && row.language === language)
  )
}

async function insertTemplates(tx: Scope, channelId: string, templates: ProviderTemplate[]): Promise<void> {
  if (templates.length === 0) return
  const now = tx.now()
  const rows = templates.map((template) => ({
    id: newId(),
    channelId,
    ...toColumns(template),
    lastSyncedAt: now,
    createdAt: now,
    updatedAt: now,
  }))
  const inserted = await tx.sql<{ id: string }>('insertTemplates')`
    ${insertRowsSql('templates', tx.tenantId, rows)} on conflict do nothing returning id`
  await tx.record(...inserted.map(({ id }) => ({ type: 'template.created' as const, data: { templateId: id } })))
}

function toColumns({ components, ...template }: ProviderTemplate) {
  return { ...template, ...contentColumns(components) }
}

/** Returns true if the row changed. */
async function updateTemplate(tx: Scope, row: TemplateRow, template: ProviderTemplate): Promise<boolean> {
  if (isEdited(row, template)) return false
  const columns = toColumns(template)
  const keys = ['name', 'language', 'category', 'status', 'quality', 'rejectionReason', 'providerTemplateId'] as const
  const isSame = keys.every((key) => row[key] === columns[key]) && isEqualJson(row.components, columns.components)
  if (isSame) return false
  const suggestedCategory = row.category === columns.category ? row.suggestedCategory : null
  await tx
    .query(TemplateRow)
    .findOne('id', row.id)
    .patch({ ...columns, suggestedCategory, updatedAt: tx.now() })
  const data = { templateId: row.id }
  if (row.status !== columns.status) await tx.record({ type: 'template.status_changed', data })
  if (row.quality !== columns.quality) await tx.record({ type: 'template.quality_changed', data })
  if (row.category !== columns.category) await tx.record({ type: 'template.category_changed', data })
  return true
}

/** True for a rejected template that was changed here and not submitted yet: the provider still has the rejected text. */
function isEdited(row: TemplateRow, { status }: ProviderTemplate): boolean {
  return row.status === 'draft' && row.providerTemplateId !== null && status !== 'pending' && status !== 'approved'
}

/** Compares JSON regardless of the order of keys, which Postgres changes. */
function isEqualJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sortKeys(a)) === JSON.stringify(sortKeys(b))
}

/** Time after a submission during which the provider's list may not have the template yet. */
const LIST_DELAY_MS = MINUTE

/** Marks templates of the provider that a complete synchronization has not seen. */
async function markDeleted(tx: Scope, channelId: string, startedAt: Date): Promise<number> {
  const deleted = await tx.sql<{ id: string }>('markDeleted')`
    update templates set status = 'deleted', updated_at = ${tx.now()}
     where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and provider_template_id is not null
       and status <> 'deleted' and (last_synced_at is null or last_synced_at < ${startedAt})
       and (submitted_at is null or submitted_at < ${addMs(startedAt, -LIST_DELAY_MS)})
     returning id`
  await tx.record(...deleted.map(({ id }) => ({ type: 'template.status_changed' as const, data: { templateId: id } })))
  return deleted.length
}
