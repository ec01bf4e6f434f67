import { Workflow as WorkflowRow, WorkflowTest as TestRow } from '../../models/automation.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { findCreators, withCreator } from '../api-keys/creators.ts'
import type { WorkflowRef } from '../workflows/schema.ts'
import type { Expectation, WorkflowTest, WorkflowTestRef } from './schema.ts'

async function toWorkflowTests(scope: Scope, rows: TestRow[]): Promise<WorkflowTest[]> {
  const creators = await findCreators(scope, rows)
  return rows.map((row) => ({ ...withCreator(row, creators), expectation: toExpectation(row) }))
}

/** Returns the expectation of a test. The column has only those that passed the schema or were built from a run. */
export function toExpectation({ expectation }: Pick<TestRow, 'expectation'>): Expectation {
  return expectation as Expectation
}

/** @throws NotFoundError */
export async function getTest(scope: Scope, testId: string): Promise<WorkflowTest> {
  const [test] = await toWorkflowTests(scope, await scope.query(TestRow).where('id', testId))
  if (!test) throw new NotFoundError('Test')
  return test
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
  return { items: await toWorkflowTests(scope, await listTestsOfWorkflow(scope, workflowId)) }
}
