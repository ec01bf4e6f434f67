import type { Scope } from '../../scope.ts'
import type { ListWorkflows, Workflow } from './schema.ts'
import { presentWorkflow, workflowRows } from './workflow-query.ts'

export async function listWorkflows(scope: Scope, { status }: ListWorkflows): Promise<{ items: Workflow[] }> {
  const rows = workflowRows(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  if (status) void rows.where({ status })
  return { items: (await rows).map(presentWorkflow) }
}
