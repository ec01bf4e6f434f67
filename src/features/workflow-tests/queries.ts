import { Workflow as WorkflowRow, WorkflowTest as TestRow } from '../../models/automation.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowRef } from '../workflows/schema.ts'
import type { Expectation, WorkflowTest, WorkflowTestRef } from './schema.ts'

export function toWorkflowTest(row: TestRow): WorkflowTest {
  // The column only holds expectations that passed the schema or were built from a run.
  return { ...row, expectation: row.expectation as Expectation }
}

/** @throws NotFoundError for an unknown workflow, or a test that does not belong to it */
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
