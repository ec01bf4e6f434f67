import type { Scope } from '../../scope.ts'
import type { Workflow } from './schema.ts'
import { presentWorkflow, workflowRows } from './workflow-rows.ts'

export async function listWorkflows(scope: Scope): Promise<{ items: Workflow[] }> {
  const rows = await workflowRows(scope).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: rows.map(presentWorkflow) }
}
