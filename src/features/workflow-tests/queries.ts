import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import { WorkflowTest as TestRow } from '../../models/automation/workflow-test.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Expectation, WorkflowTest, WorkflowTestRef } from './schema.ts'
import type { WorkflowRef } from '../workflows/schema.ts'

export function toWorkflowTest(row: TestRow): WorkflowTest {
  return { ...row, expectation: row.expectation as Expectation }
}

/** @throws NotFoundError for the workflow, or for a test that is not of this workflow */
export async function findTest(scope: Scope, { workflowId, testId }: WorkflowTestRef): Promise<TestRow> {
  await scope.get(WorkflowRow, workflowId)
  const row = isUuid(testId) ? await scope.query(TestRow).findOne({ workflowId, id: testId }) : undefined
  if (!row) throw new NotFoundError('Test')
  return row
}

export async function listTestsOfWorkflow(scope: Scope, workflowId: string): Promise<TestRow[]> {
  return await scope.query(TestRow).where({ workflowId }).orderBy(['createdAt', 'id'])
}

export async function listWorkflowTests(scope: Scope, { workflowId }: WorkflowRef): Promise<{ items: WorkflowTest[] }> {
  await scope.get(WorkflowRow, workflowId)
  return { items: (await listTestsOfWorkflow(scope, workflowId)).map(toWorkflowTest) }
}

export async function deleteWorkflowTest(scope: Scope, ref: WorkflowTestRef): Promise<Record<string, never>> {
  const { id } = await findTest(scope, ref)
  await scope.query(TestRow).where('id', id).delete()
  return {}
}
