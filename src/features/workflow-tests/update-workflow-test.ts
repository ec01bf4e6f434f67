import { WorkflowTest as TestRow } from '../../models/automation.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertStorable } from './assert-storable.ts'
import type { UpdateWorkflowTest, WorkflowTest } from './schema.ts'
import { findTest, toWorkflowTest } from './queries.ts'

/**
 * @throws ConflictError `name_taken`
 * @throws UnprocessableError `literal_secret`, `test_too_large`
 */
export async function updateWorkflowTest(
  scope: Scope,
  { workflowId, testId, ...input }: UpdateWorkflowTest,
): Promise<WorkflowTest> {
  assertStorable({ expectation: input.expectation })
  return toUniqueNameError('test', () =>
    scope.transaction(async (tx) => {
      const { id } = await findTest(tx, { workflowId, testId })
      await tx
        .query(TestRow)
        .findOne('id', id)
        .patch({ ...definedFields(input), updatedAt: tx.now() })
      return toWorkflowTest(await tx.get(TestRow, id))
    }),
  )
}
