import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/** A write takes minutes. One of this age belongs to a process that ended meanwhile. */
const ABANDONED_MS = HOUR
const BATCH = 100
const BATCHES_MAX = 100

/** Write that has begun. Its time tells whether another process took it for abandoned. */
export type MediaWrite = { id: string; key: string; startedAt: Date }

export function toStoreKey(tenantId: string, mediaId: string): string {
  return `${tenantId}/${mediaId}`
}

/** Records that the file of an ID is being put into the store, or deleted from it. */
export async function startWrite(scope: Scope, id: string): Promise<MediaWrite> {
  const { tenantId } = scope
  const startedAt = scope.now()
  await scope.sql('startMediaWrite')`
    insert into media_writes (tenant_id, id, created_at) values (${tenantId}, ${id}, ${startedAt})`
  return { id, key: toStoreKey(tenantId, id), startedAt }
}

/** Ends a write. @throws Error if it was taken for abandoned, so that its file may be gone */
export async function finishWrite(scope: Scope, { id, startedAt }: MediaWrite): Promise<void> {
  const finished = await scope.sql('finishMediaWrite')`
    delete from media_writes w where w.tenant_id = ${scope.tenantId} and w.id = ${id} and w.created_at = ${startedAt}
    returning w.id`
  if (finished.length === 0) throw new Error('The file was deleted while it was stored, because that took too long')
}

/** Deletes the file of a write. If that fails, it is deleted later. */
export async function discardWrite(scope: Scope, write: MediaWrite): Promise<void> {
  try {
    await scope.files.delete(write.key)
    await finishWrite(scope, write)
  } catch (error) {
    scope.log.warn(
      { event: 'file_delete_failed', err: error, mediaId: write.id },
      'a file could not be deleted, and is deleted later',
    )
  }
}

/** Deletes the files of processes that ended between a file and its row. Running it concurrently or repeatedly is safe. */
export async function purgeMediaWrites(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -ABANDONED_MS)
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const rows = await system.acrossTenants<{ tenantId: string; id: string }>('findAbandonedMediaWrites')`
      select w.tenant_id, w.id from media_writes w where w.created_at < ${oldest}
        and ${system.deletedWorkspaces.exceptSql('w')}
      order by w.created_at limit ${BATCH}`
    for (const { tenantId, id } of rows) await purgeWrite(system.forTenant(tenantId), id, oldest)
    if (rows.length < BATCH) return
  }
}

/**
 * Deletes the files of the abandoned writes of a workspace. Returns false while others are left: their processes may still
 * be storing a file.
 */
export async function purgeTenantWrites(scope: Scope): Promise<boolean> {
  const oldest = addMs(scope.now(), -ABANDONED_MS)
  const rows = await scope.sql<{ id: string; isAbandoned: boolean }>('listMediaWrites')`
    select w.id, w.created_at < ${oldest} as is_abandoned from media_writes w
    where w.tenant_id = ${scope.tenantId} order by w.created_at limit ${BATCH}`
  for (const { id, isAbandoned } of rows) if (isAbandoned) await purgeWrite(scope, id, oldest)
  return rows.length === 0
}

async function purgeWrite(scope: Scope, id: string, oldest: Date): Promise<void> {
  const startedAt = scope.now()
  // A process that was frozen cannot finish the write any more.
  const claimed = await scope.sql('claimMediaWrite')`
    update media_writes w set created_at = ${startedAt}
    where w.tenant_id = ${scope.tenantId} and w.id = ${id} and w.created_at < ${oldest}
    returning w.id`
  if (claimed.length > 0) await discardWrite(scope, { id, key: toStoreKey(scope.tenantId, id), startedAt })
}
