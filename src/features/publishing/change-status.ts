import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { replaceSchedules } from '../schedules/replace-schedules.ts'
import { getWorkflow } from '../workflows/queries.ts'
import type { WorkflowRef, WorkflowWithDefinition } from '../workflows/schema.ts'

/** Stops a workflow from starting new runs. Current runs continue. */
export function unpublishWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.status === 'draft' || workflow.status === 'archived') {
      throw new ConflictError('workflow_not_published', 'Only a published workflow can be unpublished')
    }
    if (workflow.status === 'published') {
      await replaceSchedules(tx, workflowId, null)
      await tx.query(WorkflowRow).findOne('id', workflowId).patch({ status: 'paused', updatedAt: tx.now() })
      await tx.record({ type: 'workflow.paused', data: { workflowId } })
    }
    return getWorkflow(tx, { workflowId })
  })
}

/** Archives a workflow in any status: it starts no new runs and cannot be published. Current runs continue. */
export function archiveWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.status !== 'archived') {
      await replaceSchedules(tx, workflowId, null)
      await tx.query(WorkflowRow).findOne('id', workflowId).patch({ status: 'archived', updatedAt: tx.now() })
      await tx.record({ type: 'workflow.archived', data: { workflowId } })
    }
    return getWorkflow(tx, { workflowId })
  })
}

/** Restores an archived workflow: as paused if it was ever published, otherwise as a draft. */
export function unarchiveWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (workflow.status !== 'archived') {
      throw new ConflictError('workflow_not_archived', 'Only an archived workflow can be unarchived')
    }
    const status = workflow.version === null ? 'draft' : 'paused'
    await tx.query(WorkflowRow).findOne('id', workflowId).patch({ status, updatedAt: tx.now() })
    await tx.record({ type: 'workflow.unarchived', data: { workflowId } })
    return getWorkflow(tx, { workflowId })
  })
}
