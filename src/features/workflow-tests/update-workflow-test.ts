import { WorkflowTest as TestRow } from '../../models/workflow-test.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { refuseTakenName } from '../../platform/taken-name.ts'
import type { Scope } from '../../scope.ts'
import type { UpdateWorkflowTest, WorkflowTest } from './schema.ts'
import { findTest, presentTest } from './test-rows.ts'

export function updateWorkflowTest(
  scope: Scope,
  { workflowId, testId, ...input }: UpdateWorkflowTest,
): Promise<WorkflowTest> {
  return refuseTakenName('test', () =>
    scope.transaction(async (tx) => {
      const { id } = await findTest(tx, { workflowId, testId })
      await tx
        .query(TestRow)
        .findOne('id', id)
        .patch({ ...definedFields(input), updatedAt: tx.now() })
      return presentTest(await tx.get(TestRow, id))
    }),
  )
}
