import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow, UnusableWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope/scope.ts'
import { workflowLanguage } from '../../workflow-language.ts'

type VersionKey = { workflowId: string; version: number }

/** Checked versions by tenant, workflow and version. A version never changes, so entries need no invalidation. */
const cache = new LRUCache<string, CheckedVersion>({ max: 1000 })

/** Published versions whose problems this process has logged. */
const logged = new LRUCache<string, true>({ max: 1000 })

export type Published = { workflows: PublishedWorkflow[]; unusable: UnusableWorkflow[] }

const PROBLEMS_MAX = 10

/** The parts that decisions read without a check. What a step or trigger contains is the matter of its type. */
const shape = z.object({
  version: z.literal(1),
  triggers: z.array(z.object({ type: z.string() })),
  settings: z.object({
    reentry: z.string(),
    debounceMs: z.number(),
    maxDurationMs: z.number(),
    pauseOnHumanReply: z.boolean(),
  }),
  variables: z.record(z.string(), z.object({})),
  steps: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      loops: z.array(z.string()),
      next: z.string(),
      skip: z.string(),
      onError: z.string(),
      config: z.record(z.string(), z.unknown()),
    }),
  ),
  index: z.record(z.string(), z.number()),
})

/** A stored version. It can be executed if `compiled` is not null; a single step or trigger may be damaged even then. */
type CheckedVersion = {
  compiled: CompiledDefinition | null
  problems: string[]
  /** Null if they cannot be read. */
  triggerTypes: string[] | null
}

/** Lists the published workflows of a workspace, which may start runs, oldest first. */
export async function listPublished(tx: Scope): Promise<PublishedWorkflow[]> {
  return (await loadPublished(tx)).workflows
}

/** Loads the published workflows, and apart from them those that cannot be executed, each oldest first. */
export async function loadPublished(tx: Scope): Promise<Published> {
  const rows = await tx.sql<{ workflowId: string; name: string; version: number | null }>('loadPublished')`
    select id as workflow_id, name, version from workflows
     where tenant_id = ${tx.tenantId} and status = 'published' order by created_at, id`
  const versions = rows.map(({ version, ...row }) => ({ ...row, version: version ?? NO_VERSION }))
  const checked = await checkVersions(tx, versions)
  const published: Published = { workflows: [], unusable: [] }
  for (const { workflowId, name, version } of versions) {
    const { compiled, problems, triggerTypes } = checked.get(versionKey({ workflowId, version })) ?? MISSING
    if (problems.length > 0) logProblems(tx, { workflowId, version, problems })
    if (compiled) published.workflows.push({ workflowId, name, version, compiled })
    else published.unusable.push({ workflowId, version, triggerTypes, problem: problems.join('. ') })
  }
  return published
}

/** Number that no version has: that of a workflow that is published without one. */
const NO_VERSION = 0

const MISSING: CheckedVersion = {
  compiled: null,
  problems: ['The published version is not stored'],
  triggerTypes: null,
}

function logProblems(tx: Scope, { problems, ...version }: VersionKey & { problems: string[] }): void {
  const key = `${tx.tenantId}:${versionKey(version)}`
  if (logged.has(key)) return
  logged.set(key, true)
  tx.log.error({ event: 'workflow_broken', ...version, problems }, 'a published workflow cannot be executed completely')
}

/** Lists what prevents published versions from being executed, by the IDs of their workflows. */
export async function listPublishedProblems(
  scope: Scope,
  workflows: { workflowId: string; version: number | null }[],
): Promise<Map<string, string[]>> {
  const versions = workflows.map(({ workflowId, version }) => ({ workflowId, version: version ?? NO_VERSION }))
  const checked = await checkVersions(scope, versions)
  return new Map(
    versions.map((version) => [version.workflowId, (checked.get(versionKey(version)) ?? MISSING).problems]),
  )
}

/** Loads workflows at the given versions, published or not. Missing and damaged ones are left out. */
export async function loadWorkflows(tx: Scope, keys: VersionKey[]): Promise<PublishedWorkflow[]> {
  const compiled = await loadVersions(tx, keys)
  const rows = await tx.sql<{ id: string; name: string }>('loadWorkflows')`
    select id, name from workflows where tenant_id = ${tx.tenantId} and id = any(${[...new Set(keys.map(({ workflowId }) => workflowId))]})`
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  const distinct = new Map(keys.map((key) => [versionKey(key), key]))
  return [...distinct].flatMap(([key, version]) => {
    const [name, definition] = [names.get(version.workflowId), compiled.get(key)]
    return name === undefined || !definition ? [] : [{ ...version, name, compiled: definition }]
  })
}

function versionKey({ workflowId, version }: VersionKey): string {
  return `${workflowId}:${version}`
}

/** Loads compiled versions by `workflowId:version`. Missing and damaged ones are left out. */
export async function loadVersions(tx: Scope, keys: VersionKey[]): Promise<Map<string, CompiledDefinition>> {
  const checked = await checkVersions(tx, keys)
  return new Map([...checked].flatMap(([key, { compiled }]) => (compiled ? [[key, compiled]] : [])))
}

/** Loads and checks versions by `workflowId:version`. Missing ones are left out. */
async function checkVersions(tx: Scope, keys: VersionKey[]): Promise<Map<string, CheckedVersion>> {
  const loaded = new Map<string, CheckedVersion>()
  const missing = new Map<string, VersionKey>()
  for (const version of keys) {
    const key = versionKey(version)
    const checked = cache.get(`${tx.tenantId}:${key}`)
    if (checked) loaded.set(key, checked)
    else missing.set(key, version)
  }
  if (missing.size === 0) return loaded
  const versions = [...missing.values()]
  const rows = await tx.sql<{ key: string; compiled: unknown }>('checkVersions')`
    select v.workflow_id || ':' || v.version as key, v.compiled
     from workflow_versions v
     join unnest(${versions.map(({ workflowId }) => workflowId)}::uuid[], ${versions.map(({ version }) => version)}::int[]) as x (workflow_id, version)
       on v.workflow_id = x.workflow_id and v.version = x.version
     where v.tenant_id = ${tx.tenantId}`
  for (const { key, compiled } of rows) {
    const checked = checkCompiled(compiled)
    cache.set(`${tx.tenantId}:${key}`, checked)
    loaded.set(key, checked)
  }
  return loaded
}

/** Checks a stored version, which an operator or an older release may have written. */
function checkCompiled(stored: unknown): CheckedVersion {
  if (isCompiled(stored))
    return {
      compiled: stored,
      problems: listUnknownTypes(stored),
      triggerTypes: stored.triggers.map(({ type }) => type),
    }
  const issues = shape.safeParse(stored).error?.issues ?? []
  const paths = issues.slice(0, PROBLEMS_MAX).map(({ path }) => path.join('.') || 'the definition')
  return { compiled: null, problems: [`The stored form is damaged at ${paths.join(', ')}`], triggerTypes: null }
}

function isCompiled(stored: unknown): stored is CompiledDefinition {
  return shape.safeParse(stored).success
}

function listUnknownTypes({ triggers, steps }: CompiledDefinition): string[] {
  const { triggers: triggerTypes, steps: stepTypes } = workflowLanguage
  const problems = [
    ...triggers.filter(({ type }) => !triggerTypes.has(type)).map(({ type }) => `The trigger type ${type} is unknown`),
    ...steps
      .filter(({ type }) => !stepTypes.has(type))
      .map(({ id, type }) => `Step "${id}" has the unknown type ${type}`),
  ]
  return problems.slice(0, PROBLEMS_MAX)
}
