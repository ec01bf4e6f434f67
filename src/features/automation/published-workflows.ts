import { LRUCache } from 'lru-cache'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'

/** A version never changes, so what was read once need not be read again. */
const versions = new LRUCache<string, CompiledDefinition>({ max: 1000 })

/** The workflows of a workspace that may start runs, the oldest first. */
export async function listPublished(tx: Scope): Promise<PublishedWorkflow[]> {
  const rows = await tx
    .db('workflows')
    .where({ tenant_id: tx.tenantId, status: 'published' })
    .select<{ id: string; name: string; version: number }[]>('id', 'name', 'version')
    .orderBy('created_at')
    .orderBy('id')
  const compiled = await loadVersions(
    tx,
    rows.map(({ id, version }) => ({ workflowId: id, version })),
  )
  return rows.map(({ id, name, version }) => ({
    workflowId: id,
    name,
    version,
    compiled: compiled.get(`${id}:${version}`) as CompiledDefinition,
  }))
}

/** Workflows at these versions, published or not. One that is not there is left out. */
export async function loadWorkflows(
  tx: Scope,
  wanted: { workflowId: string; version: number }[],
): Promise<PublishedWorkflow[]> {
  const compiled = await loadVersions(tx, wanted)
  const rows = await tx
    .db('workflows')
    .where({ tenant_id: tx.tenantId })
    .whereIn('id', [...new Set(wanted.map(({ workflowId }) => workflowId))])
    .select<{ id: string; name: string }[]>('id', 'name')
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  return [...compiled].flatMap(([key, definition]) => {
    const [workflowId = '', version] = key.split(':')
    const name = names.get(workflowId)
    return name === undefined || !definition
      ? []
      : [{ workflowId, name, version: Number(version), compiled: definition }]
  })
}

/** By `workflowId:version`. */
export async function loadVersions(
  tx: Scope,
  wanted: { workflowId: string; version: number }[],
): Promise<Map<string, CompiledDefinition>> {
  const keys = [...new Set(wanted.map(({ workflowId, version }) => `${workflowId}:${version}`))]
  const missing = keys.filter((key) => !versions.has(`${tx.tenantId}:${key}`))
  if (missing.length > 0) {
    const pairs = missing.map((key) => key.split(':') as [string, string])
    const { rows } = await tx.db.raw<{ rows: { key: string; compiled: CompiledDefinition }[] }>(
      `select v.workflow_id || ':' || v.version as key, v.compiled
       from workflow_versions v
       join unnest(?::uuid[], ?::int[]) as wanted (workflow_id, version)
         on v.workflow_id = wanted.workflow_id and v.version = wanted.version
       where v.tenant_id = ?`,
      [pairs.map(([id]) => id), pairs.map(([, version]) => Number(version)), tx.tenantId],
    )
    for (const { key, compiled } of rows) versions.set(`${tx.tenantId}:${key}`, compiled)
  }
  return new Map(keys.map((key) => [key, versions.get(`${tx.tenantId}:${key}`) as CompiledDefinition]))
}
