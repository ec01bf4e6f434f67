import { raw } from 'objection'
import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { Workflow as WorkflowRow, WorkflowVersion as VersionRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import type {
  Workflow,
  WorkflowWithDefinition,
  WorkflowRef,
  ListWorkflows,
  WorkflowVersion,
  WorkflowVersionRef,
} from './schema.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { findCreators, withCreator } from '../api-keys/creators.ts'
import { listPublishedProblems } from '../automation/published-workflows.ts'

/** Columns of a workflow except its draft, which may be large. */
const LISTED = [
  'id',
  'key',
  'name',
  'description',
  'status',
  'version',
  'draftRevision',
  'publishedAt',
  'createdBy',
  'createdByType',
  'createdAt',
  'updatedAt',
] as const

type ListedWorkflow = Pick<WorkflowRow, (typeof LISTED)[number] | 'draftHash'> & { publishedHash: string | null }

class WorkflowWithHash extends WorkflowRow {
  declare publishedHash: string | null
}

function workflowQuery(scope: Scope) {
  return scope.query(WorkflowWithHash).select(...LISTED, publishedHash(scope.tenantId), currentHash())
}

function publishedHash(tenantId: string) {
  return raw(
    `(select v.hash from workflow_versions v
      where v.tenant_id = ? and v.workflow_id = workflows.id and v.version = workflows.version) as published_hash`,
    [tenantId],
  )
}

/** Null if the draft was written by a program that stores no hash. */
function currentHash() {
  return raw('case when draft_hash_revision = draft_revision then draft_hash end as draft_hash')
}

async function toWorkflows(scope: Scope, rows: ListedWorkflow[]): Promise<Workflow[]> {
  const published = rows.filter(({ status }) => status === 'published')
  const problems = await listPublishedProblems(
    scope,
    published.map(({ id: workflowId, version }) => ({ workflowId, version })),
  )
  const computed = await hashDrafts(
    scope,
    rows.filter(({ draftHash }) => draftHash === null).map(({ id }) => id),
  )
  const creators = await findCreators(scope, rows)
  return rows.map(({ draftHash, publishedHash, ...workflow }) => ({
    ...withCreator(workflow, creators),
    hasUnpublishedChanges: publishedHash !== (draftHash ?? computed.get(workflow.id)),
    publishedProblems: problems.get(workflow.id) ?? [],
  }))
}

/** Drafts have up to 512 KB each. */
const DRAFTS_AT_ONCE = 5

/** Computes the hashes of drafts that have none, a few at a time, so that other requests are served meanwhile. */
async function hashDrafts(scope: Scope, ids: string[]): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  for (let start = 0; start < ids.length; start += DRAFTS_AT_ONCE) {
    const portion = ids.slice(start, start + DRAFTS_AT_ONCE)
    const rows = await scope.query(WorkflowRow).select('id', 'draft').whereIn('id', portion)
    for (const { id, draft } of rows) hashes.set(id, definitionHash(draft))
  }
  return hashes
}

export async function getWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  const row = isUuid(workflowId) ? await workflowQuery(scope).select('draft').findOne('id', workflowId) : undefined
  if (!row) throw new NotFoundError('Workflow')
  const { draft: definition, ...listed } = row
  const [workflow] = await toWorkflows(scope, [listed])
  if (!workflow) throw new NotFoundError('Workflow')
  return { ...workflow, definition }
}

/** Reads those of the workflows that exist. */
export async function loadWorkflows(scope: Scope, ids: string[]): Promise<Workflow[]> {
  return toWorkflows(scope, await workflowQuery(scope).whereIn('id', ids))
}

export async function listWorkflows(scope: Scope, { key, status }: ListWorkflows): Promise<{ items: Workflow[] }> {
  const rows = workflowQuery(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  if (key !== undefined) void rows.where({ key })
  if (status) void rows.where({ status })
  return { items: await toWorkflows(scope, await rows) }
}

const INTEGER_MAX = 2 ** 31 - 1

/** @throws NotFoundError */
export async function loadWorkflowVersion(
  scope: Scope,
  { workflowId, version }: WorkflowVersionRef,
): Promise<VersionRow> {
  await scope.get(WorkflowRow, workflowId)
  const row = version <= INTEGER_MAX ? await scope.query(VersionRow).findOne({ workflowId, version }) : undefined
  if (!row) throw new NotFoundError('Workflow version')
  return row
}

export async function listWorkflowVersions(
  scope: Scope,
  { workflowId }: WorkflowRef,
): Promise<{ items: Omit<WorkflowVersion, 'definition'>[] }> {
  await scope.get(WorkflowRow, workflowId)
  const rows = await scope
    .query(VersionRow)
    .select('workflowId', 'version', 'hash', 'note', 'publishedBy', 'publishedAt')
    .where('workflowId', workflowId)
    .orderBy('version', 'desc')
  return { items: await withPublishers(scope, rows) }
}

/** @throws NotFoundError */
export async function getWorkflowVersion(scope: Scope, ref: WorkflowVersionRef): Promise<WorkflowVersion> {
  const [version] = await withPublishers(scope, [await loadWorkflowVersion(scope, ref)])
  if (!version) throw new NotFoundError('Workflow version')
  return version
}

/** Adds who published versions. Only the IDs are stored, so a publisher that is not known any more counts as a member. */
async function withPublishers<T extends { publishedBy: string | null }>(scope: Scope, rows: T[]) {
  const versions = rows.map(({ publishedBy, ...row }) => ({ row, createdBy: publishedBy, createdByType: null }))
  const publishers = await findCreators(scope, versions)
  return versions.map((version) => {
    const { row, createdBy: publishedBy } = withCreator(version, publishers)
    return { ...row, publishedBy }
  })
}
