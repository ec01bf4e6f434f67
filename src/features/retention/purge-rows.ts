import { toRecordset } from '../../platform/database/sql.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { forEachTenant } from '../../platform/jobs/for-each-tenant.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { AUDIT_DAYS_MAX } from './schema.ts'

/** Statements per run of a purge. What is left is deleted by the next run. */
const STATEMENTS_MAX = 200

export type TenantPurge = {
  table: SqlFragment
  /** The key of a row without its tenant, as a JSON object. */
  key: SqlFragment
  /** Matches a row `t` with the key `old`. */
  isSame: SqlFragment
  /** Matches rows `t` to delete. It is checked again when they are deleted, since they may have changed meanwhile. */
  isOld: SqlFragment
}

type Key = { tenantId: string; key: object }

/**
 * Deletes old rows of all tenants in short statements, tenant by tenant. Running it concurrently or repeatedly is safe:
 * each portion commits on its own.
 */
export async function purgeTenantRows(system: SystemScope, { table, key, isSame, isOld }: TenantPurge): Promise<void> {
  const failed: string[] = []
  for (let portion = 0; portion < STATEMENTS_MAX; portion += 1) {
    const keys = await system.acrossTenants<Key>('listOldRows')`
      select t.tenant_id, ${key} as key from ${table} t where ${isOld} and t.tenant_id <> all(${failed}::uuid[])
        and ${system.deletedWorkspaces.exceptSql('t')}
      limit ${system.portions.purge}`
    const byTenant = new Map<string, object[]>()
    for (const { tenantId } of keys) byTenant.set(tenantId, [])
    for (const row of keys) byTenant.get(row.tenantId)?.push(row.key)
    const context = { log: system.log, task: 'purge old rows' }
    failed.push(
      ...(await forEachTenant(keys, context, async (tenantId) => {
        const rows = byTenant.get(tenantId) ?? []
        await system.forTenant(tenantId).sql('deleteOldRows')`
          delete from ${table} t using jsonb_populate_recordset(null::${table}, ${toRecordset(rows)}::jsonb) old
          where t.tenant_id = ${tenantId} and ${isSame} and ${isOld}`
      })),
    )
    if (keys.length < system.portions.purge) return
  }
}

/** Deletes old rows of a table that does not belong to tenants, in short statements. */
export async function purgeSystemRows(
  system: SystemScope,
  { table, isOld }: { table: SqlFragment; isOld: SqlFragment },
): Promise<void> {
  for (let portion = 0; portion < STATEMENTS_MAX; portion += 1) {
    const deleted = await system.sql('deleteOldSystemRows')`
      delete from ${table} where ctid = any(array(select ctid from ${table} where ${isOld} limit ${system.portions.purge}))
      returning 1`
    if (deleted.length < system.portions.purge) return
  }
}

/** Deletes what is kept of deleted messages when their provider repeats them no more. */
export async function purgeDeletedMessageIds(system: SystemScope): Promise<void> {
  await purgeTenantRows(system, {
    table: sqlFragment`deleted_message_ids`,
    key: sqlFragment`jsonb_build_object('hash', t.hash)`,
    isSame: sqlFragment`t.hash = old.hash`,
    isOld: sqlFragment`t.expires_at < ${system.now()}`,
  })
}

/** Deletes audit events past the longest retention, and the receipts of deleted workspaces of that age. */
export async function purgeAuditEvents(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -AUDIT_DAYS_MAX * DAY)
  await purgeSystemRows(system, {
    table: sqlFragment`workspace_deletions`,
    isOld: sqlFragment`finished_at < ${oldest}`,
  })
  await purgeTenantRows(system, {
    table: sqlFragment`audit_events`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}

/** Deletes API keys a day after the last audit events that name them. Messages and runs have copies of their names. */
export async function purgeApiKeys(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -(AUDIT_DAYS_MAX + 1) * DAY)
  await purgeTenantRows(system, {
    table: sqlFragment`api_keys`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.revoked_at < ${oldest}`,
  })
}

/** Deletes the idempotency keys that are older than a day. */
export async function purgeIdempotencyKeys(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -DAY)
  await purgeTenantRows(system, {
    table: sqlFragment`idempotency_keys`,
    key: sqlFragment`jsonb_build_object('route', t.route, 'key', t.key)`,
    isSame: sqlFragment`t.route = old.route and t.key = old.key`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}
