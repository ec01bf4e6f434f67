import type { Scope } from '../../scope.ts'
import type { ListWorkflows, Workflow } from './schema.ts'
import { toWorkflow, workflowQuery } from './workflow-query.ts'

export async function listWorkflows(scope: Scope, { status }: ListWorkflows): Promise<{ items: Workflow[] }> {
  const rows = workflowQuery(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  if (status) void rows.where({ status })
  return { items: (await rows).map(toWorkflow) }
}
