import { definitionHash } from '../../engine/compile/definition-hash.ts'
import { Workflow as WorkflowRow, WorkflowWebhook as WebhookRow } from '../../models/automation.ts'
import { findUniqueKey } from '../../platform/database/unique-name.ts'
import { definedFields, listChanged } from '../../platform/fields.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { toCreatorColumns } from '../api-keys/creators.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { assertNoLiteralSecrets } from './literal-secrets.ts'
import { getWorkflow, loadWorkflowVersion } from './queries.ts'
import {
  type CreateWorkflow,
  NAME_MAX,
  type RestoreVersion,
  type UpdateWorkflow,
  type WorkflowRef,
  type WorkflowWithDefinition,
} from './schema.ts'

export const EMPTY_DEFINITION = { version: 1, triggers: [], steps: [] }

type Draft = WorkflowRow['draft']

/**
 * Creates a draft. Without a definition the draft is empty, and can be published as it is.
 * @throws ConflictError `too_many_workflows`, `workflow_key_taken`
 * @throws UnprocessableError `literal_secret`
 */
export async function createWorkflow(
  scope: Scope,
  { id: workflowId = newId(), ...input }: CreateWorkflow & { id?: string },
): Promise<WorkflowWithDefinition> {
  assertNoLiteralSecrets(input.definition)
  return inKeyedTransaction(scope, async (tx) => {
    await assertRowLimit(tx, 'workflows')
    const now = tx.now()
    await tx.query(WorkflowRow).insert({
      id: workflowId,
      key: input.key ?? null,
      name: input.name,
      description: input.description ?? null,
      status: 'draft',
      ...toDraftColumns(input.definition ?? EMPTY_DEFINITION, 1),
      ...toCreatorColumns(tx),
      createdAt: now,
      updatedAt: now,
    })
    await tx.record({ type: 'workflow.created', data: { workflowId } })
    tx.audit?.addTargets('workflow', [workflowId])
    return getWorkflow(tx, { workflowId })
  })
}

/**
 * Changes the draft. The published version stays until the next publish.
 * @throws ConflictError `version_conflict`, `workflow_key_taken`
 * @throws UnprocessableError `literal_secret`
 */
export async function updateWorkflow(scope: Scope, input: UpdateWorkflow): Promise<WorkflowWithDefinition> {
  const { workflowId, definition, draftRevision, ...columns } = input
  assertNoLiteralSecrets(definition)
  return inKeyedTransaction(scope, async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    tx.audit?.compareWith({
      key: workflow.key,
      name: workflow.name,
      description: workflow.description,
      draftRevision: workflow.draftRevision,
    })
    if (draftRevision !== undefined && draftRevision !== workflow.draftRevision) {
      throw new ConflictError(
        'version_conflict',
        'The draft has been changed since it was read. Read it again and repeat your change',
        {
          draftRevision: workflow.draftRevision,
        },
      )
    }
    await tx
      .query(WorkflowRow)
      .findOne('id', workflowId)
      .patch({
        ...definedFields(columns),
        ...(definition ? toDraftColumns(definition, workflow.draftRevision + 1) : {}),
        updatedAt: tx.now(),
      })
    const changed = listChanged(
      { ...workflow, definition: workflow.draft },
      { ...columns, definition, draftRevision: definition && workflow.draftRevision + 1 },
    )
    if (changed.length > 0) await tx.record({ type: 'workflow.updated', data: { workflowId, changed } })
    return getWorkflow(tx, { workflowId })
  })
}

/** Creates a workflow from the draft of another one. */
export async function duplicateWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  const { name, description, draft } = await scope.get(WorkflowRow, workflowId)
  const copyName = `Copy of ${name}`.slice(0, NAME_MAX).toWellFormed().trim()
  return createWorkflow(scope, { name: copyName, description, definition: draft })
}

/** Replaces the draft with a version's definition. The published version stays until the next publish. */
export async function restoreVersion(
  scope: Scope,
  { workflowId, version, draftRevision }: RestoreVersion,
): Promise<WorkflowWithDefinition> {
  const { definition } = await loadWorkflowVersion(scope, { workflowId, version })
  return updateWorkflow(scope, { workflowId, definition, ...(draftRevision === undefined ? {} : { draftRevision }) })
}

/** Deletes a workflow that never ran, since runs refer to their version. One that was published must be archived first. */
export function deleteWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.version !== null && workflow.status !== 'archived') {
      throw new ConflictError(
        'workflow_already_published',
        'A workflow that was published cannot be deleted. Archive it first; it can then be deleted if it never ran',
      )
    }
    const runs = await tx.sql('findRunOfWorkflow')`
      select from runs where tenant_id = ${tx.tenantId} and workflow_id = ${workflow.id} limit 1`
    if (runs.length > 0) {
      throw new ConflictError('workflow_has_runs', 'A workflow that has runs cannot be deleted. Archive it instead')
    }
    await deleteWebhookRoute(tx, workflowId)
    await tx.query(WorkflowRow).delete().where('id', workflowId)
    await tx.record({ type: 'workflow.deleted', data: { workflowId } })
    return {}
  })
}

async function deleteWebhookRoute(tx: Scope, workflowId: string): Promise<void> {
  const webhook = await tx.query(WebhookRow).findOne({ workflowId })
  if (webhook) await tx.sql('deleteWebhookRoute')`delete from workflow_webhook_routes where webhook_id = ${webhook.id}`
}

/** Runs a transaction that may set a key, about which the database decides whether it is free. */
async function inKeyedTransaction<T>(scope: Scope, work: (tx: Scope) => Promise<T>): Promise<T> {
  try {
    return await scope.transaction(work)
  } catch (cause) {
    if (findUniqueKey(cause) !== 'workflows_tenant_id_key_key') throw cause
    const message = 'Another workflow has this key. Choose another key, or change that workflow'
    throw new ConflictError('workflow_key_taken', message, undefined, { cause })
  }
}

/** Returns the columns of a draft, with its hash, so that lists need not read it. */
function toDraftColumns(draft: Draft, draftRevision: number) {
  return { draft, draftRevision, draftHash: definitionHash(draft), draftHashRevision: draftRevision }
}
