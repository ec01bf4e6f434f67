import { WorkflowTest as TestRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import type { WorkflowTestRef } from './schema.ts'
import { findTest } from './queries.ts'

export async function deleteWorkflowTest(scope: Scope, ref: WorkflowTestRef): Promise<Record<string, never>> {
  const { id } = await findTest(scope, ref)
  await scope.query(TestRow).where('id', id).delete()
  return {}
}
