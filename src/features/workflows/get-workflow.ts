import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowRef, WorkflowWithDefinition } from './schema.ts'
import { toWorkflowWithDefinition, workflowQuery } from './workflow-query.ts'

export async function getWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  const row = isUuid(workflowId) ? await workflowQuery(scope).findOne('id', workflowId) : undefined
  if (!row) throw new NotFoundError('Workflow')
  return toWorkflowWithDefinition(row)
}
