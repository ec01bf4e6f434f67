import { Workflow as WorkflowRow, WorkflowTest as TestRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { formatDialogue } from '../simulations/dialogue.ts'
import { assertStorable } from './assert-storable.ts'
import type { CreateWorkflowTest, WorkflowTest } from './schema.ts'
import { toWorkflowTest } from './queries.ts'

/** Limited because publishing a workflow runs all of its tests. */
const TESTS_MAX = 100

export function createWorkflowTest(scope: Scope, input: CreateWorkflowTest): Promise<WorkflowTest> {
  const { workflowId, name, trigger, contact, stepOutputs, startsAt, expectation } = input
  return insertTest(scope, {
    workflowId,
    name,
    trigger: trigger ?? null,
    input: input.input ?? null,
    dialogue: formatDialogue(input.dialogue),
    stepOutputs: stepOutputs ?? {},
    contact: contact === undefined ? {} : contact,
    startsAt: startsAt === undefined ? scope.now() : new Date(startsAt),
    opensConversation: true,
    expectation,
    sourceRunId: null,
  })
}

type NewTest = Pick<
  TestRow,
  | 'workflowId'
  | 'name'
  | 'trigger'
  | 'input'
  | 'dialogue'
  | 'stepOutputs'
  | 'contact'
  | 'startsAt'
  | 'opensConversation'
  | 'expectation'
  | 'sourceRunId'
>

/**
 * @throws ConflictError `name_taken`, `too_many_tests`
 * @throws UnprocessableError `literal_secret`, `test_too_large`
 */
export async function insertTest(scope: Scope, test: NewTest): Promise<WorkflowTest> {
  const { trigger, input, dialogue, stepOutputs, contact, expectation } = test
  assertStorable({ trigger, input, dialogue, stepOutputs, contact, expectation })
  return toUniqueNameError('test', () =>
    scope.transaction(async (tx) => {
      // Serializes concurrent requests, so that together they cannot exceed the limit.
      await tx.lock(WorkflowRow, test.workflowId)
      const count = await tx.query(TestRow).where('workflowId', test.workflowId).resultSize()
      if (count >= TESTS_MAX) {
        throw new ConflictError('too_many_tests', `A workflow can have at most ${TESTS_MAX} tests. Delete one first`)
      }
      await assertRowLimit(tx, 'tests')
      const now = tx.now()
      const createdBy = tx.actor.type === 'user' ? tx.actor.id : null
      const row = { ...test, id: newId(), createdBy, createdAt: now, updatedAt: now }
      await tx.query(TestRow).insert(row)
      return toWorkflowTest(await tx.get(TestRow, row.id))
    }),
  )
}
