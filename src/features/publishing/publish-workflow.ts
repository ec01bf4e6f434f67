import { isDeepStrictEqual } from 'node:util'
import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { Workflow as WorkflowRow, WorkflowVersion as VersionRow } from '../../models/automation.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { findMemberId } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { holdTimezone } from '../automation/workflow-zone.ts'
import { checkInWorkspace } from '../definition-checks/check-in-workspace.ts'
import { replaceSchedules } from '../schedules/replace-schedules.ts'
import { listTestWarnings } from '../workflow-tests/run-workflow-tests.ts'
import { ensureWebhook } from '../workflow-webhooks/changes.ts'
import { getWorkflow } from '../workflows/queries.ts'
import type { PublishedWorkflow, PublishWorkflow, ValidateWorkflow, Validation } from './schema.ts'

/** Stored size of the definitions of all versions of a workspace, which is smaller than their texts. */
export const VERSIONS = { bytesMax: 1024 ** 3 }

/**
 * Makes the draft the version of new runs; current runs keep theirs. Publishing an unchanged draft creates no version.
 * With `expected` no other draft is published.
 * @throws ConflictError `workflow_archived`, `too_many_versions`, or `draft_changed` while the draft was checked
 */
export async function publishWorkflow(
  scope: Scope,
  { workflowId, note }: PublishWorkflow,
  expected?: WorkflowRow['draft'],
): Promise<PublishedWorkflow> {
  // The check waits for a compute thread, so it runs outside the transaction and its locks.
  const { draft, compiled, warnings } = await checkDraft(scope, workflowId, expected)
  const { published, workflowVersion } = await scope.transaction(async (tx) => {
    await holdTimezone(tx)
    const workflow = await tx.lock(WorkflowRow, workflowId)
    assertNotArchived(workflow)
    assertSameDraft(workflow, draft)
    await replaceSchedules(tx, workflowId, compiled)
    await ensureWebhook(tx, workflowId, compiled)
    const hash = definitionHash(workflow.draft)
    const version =
      (await findSameVersion(tx, workflow, hash)) ?? (await addVersion(tx, workflow, { hash, compiled, note }))
    if (version !== workflow.version || workflow.status !== 'published') {
      const now = tx.now()
      await tx
        .query(WorkflowRow)
        .findOne('id', workflowId)
        .patch({ status: 'published', version, publishedAt: now, updatedAt: now })
      await tx.record({ type: 'workflow.published', data: { workflowId } })
    }
    const published = { ...(await getWorkflow(tx, { workflowId })), warnings }
    return { published, workflowVersion: { workflowId, name: workflow.name, version, compiled } }
  })
  // Tests only add warnings and may be slow, so they run outside the transaction and its locks.
  return { ...published, warnings: [...published.warnings, ...(await listTestWarnings(scope, workflowVersion))] }
}

/** Runs the checks of publishing on a definition, without storing anything. */
export async function validateWorkflow(
  scope: Scope,
  { definition, workflowId }: ValidateWorkflow,
): Promise<Validation> {
  if (workflowId !== undefined) await scope.get(WorkflowRow, workflowId)
  const { errors, warnings } = await checkInWorkspace(scope, definition, workflowId ?? null)
  return { valid: errors.length === 0, errors, warnings }
}

async function checkDraft(scope: Scope, workflowId: string, expected?: WorkflowRow['draft']) {
  const workflow = await scope.get(WorkflowRow, workflowId)
  assertNotArchived(workflow)
  if (expected) assertSameDraft(workflow, expected)
  const { draft } = workflow
  const { compiled, errors, warnings } = await checkInWorkspace(scope, draft, workflowId)
  if (compiled) return { draft, compiled, warnings }
  throw new UnprocessableError('workflow_invalid', errors[0]?.message ?? 'The definition is not valid', errors)
}

/** @throws ConflictError `draft_changed` */
function assertSameDraft(workflow: WorkflowRow, draft: WorkflowRow['draft']): void {
  if (isDeepStrictEqual(workflow.draft, draft)) return
  throw new ConflictError('draft_changed', 'The draft was changed while it was being published. Publish it again')
}

/** @throws ConflictError `workflow_archived` */
export function assertNotArchived({ status }: WorkflowRow): void {
  if (status !== 'archived') return
  throw new ConflictError('workflow_archived', 'An archived workflow cannot be published. Unarchive it first')
}

async function findSameVersion(tx: Scope, workflow: WorkflowRow, hash: string): Promise<number | undefined> {
  if (workflow.version === null) return undefined
  const current = await tx.query(VersionRow).findOne({ workflowId: workflow.id, version: workflow.version })
  return current?.hash === hash ? current.version : undefined
}

async function addVersion(
  tx: Scope,
  workflow: WorkflowRow,
  { hash, compiled, note }: { hash: string; compiled: Record<string, unknown>; note: string | undefined },
): Promise<number> {
  await assertVersionsFit(tx)
  const [newest] = await tx.query(VersionRow).where('workflowId', workflow.id).orderBy('version', 'desc').limit(1)
  const version = (newest?.version ?? 0) + 1
  await tx.query(VersionRow).insert({
    workflowId: workflow.id,
    version,
    hash,
    definition: workflow.draft,
    compiled,
    note: note ?? null,
    publishedBy: findMemberId(tx.actor),
    publishedAt: tx.now(),
  })
  return version
}

/** @throws ConflictError `too_many_versions` */
async function assertVersionsFit(tx: Scope): Promise<void> {
  const [row] = await tx.sql<{ bytes: number }>('measureVersions')`
    select coalesce(sum(pg_column_size(definition) + pg_column_size(compiled)), 0)::bigint as bytes
    from workflow_versions where tenant_id = ${tx.tenantId}`
  if ((row?.bytes ?? 0) < VERSIONS.bytesMax) return
  const message = `The versions of a workspace have at most ${VERSIONS.bytesMax / 1024 ** 2} MB. Delete workflows that never ran`
  throw new ConflictError('too_many_versions', message)
}
