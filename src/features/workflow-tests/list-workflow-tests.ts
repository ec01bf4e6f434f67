import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import type { Scope } from '../../scope.ts'
import type { WorkflowRef } from '../workflows/schema.ts'
import type { WorkflowTest } from './schema.ts'
import { toWorkflowTest, listTestsOfWorkflow } from './workflow-test-query.ts'

export async function listWorkflowTests(scope: Scope, { workflowId }: WorkflowRef): Promise<{ items: WorkflowTest[] }> {
  await scope.get(WorkflowRow, workflowId)
  return { items: (await listTestsOfWorkflow(scope, workflowId)).map(toWorkflowTest) }
}
