import { LRUCache } from 'lru-cache'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'

type VersionKey = { workflowId: string; version: number }
type NamedVersion = VersionKey & { name: string }

/** Compiled versions by tenant, workflow and version. A version never changes, so entries need no invalidation. */
const cache = new LRUCache<string, CompiledDefinition>({ max: 1000 })

/** Lists the published workflows of a workspace, which may start runs, oldest first. */
export async function listPublished(tx: Scope): Promise<PublishedWorkflow[]> {
  const rows = await selectRows<NamedVersion>(
    tx.db,
    `select id as workflow_id, name, version from workflows
     where tenant_id = ? and status = 'published' order by created_at, id`,
    [tx.tenantId],
  )
  return toPublished(rows, await loadVersions(tx, rows))
}

/** Loads workflows at the given versions, published or not. Missing ones are left out. */
export async function loadWorkflows(tx: Scope, keys: VersionKey[]): Promise<PublishedWorkflow[]> {
  const compiled = await loadVersions(tx, keys)
  const rows = await selectRows<{ id: string; name: string }>(
    tx.db,
    'select id, name from workflows where tenant_id = ? and id = any(?)',
    [tx.tenantId, [...new Set(keys.map(({ workflowId }) => workflowId))]],
  )
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  const distinct = new Map(keys.map((key) => [versionKey(key), key]))
  return toPublished(
    [...distinct.values()].flatMap((key) => {
      const name = names.get(key.workflowId)
      return name === undefined ? [] : [{ ...key, name }]
    }),
    compiled,
  )
}

function toPublished(rows: NamedVersion[], compiled: Map<string, CompiledDefinition>): PublishedWorkflow[] {
  return rows.flatMap(({ workflowId, name, version }) => {
    const definition = compiled.get(versionKey({ workflowId, version }))
    return definition ? [{ workflowId, name, version, compiled: definition }] : []
  })
}

function versionKey({ workflowId, version }: VersionKey): string {
  return `${workflowId}:${version}`
}

/** Loads compiled versions by `workflowId:version`. Missing ones are left out. */
export async function loadVersions(tx: Scope, keys: VersionKey[]): Promise<Map<string, CompiledDefinition>> {
  const distinct = [...new Map(keys.map((key) => [versionKey(key), key])).entries()]
  const loaded = new Map<string, CompiledDefinition>()
  const missing: VersionKey[] = []
  for (const [key, version] of distinct) {
    const compiled = cache.get(`${tx.tenantId}:${key}`)
    if (compiled) loaded.set(key, compiled)
    else missing.push(version)
  }
  if (missing.length === 0) return loaded
  const rows = await selectRows<{ key: string; compiled: CompiledDefinition }>(
    tx.db,
    `select v.workflow_id || ':' || v.version as key, v.compiled
     from workflow_versions v
     join unnest(?::uuid[], ?::int[]) as x (workflow_id, version)
       on v.workflow_id = x.workflow_id and v.version = x.version
     where v.tenant_id = ?`,
    [missing.map(({ workflowId }) => workflowId), missing.map(({ version }) => version), tx.tenantId],
  )
  for (const { key, compiled } of rows) {
    cache.set(`${tx.tenantId}:${key}`, compiled)
    loaded.set(key, compiled)
  }
  return loaded
}
