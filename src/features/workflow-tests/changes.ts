import { Workflow as WorkflowRow, WorkflowTest as TestRow } from '../../models/automation.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import { definedFields } from '../../platform/fields.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { findSecretValue } from '../../platform/security/literal-secret.ts'
import type { Scope } from '../../scope/scope.ts'
import { toCreatorColumns } from '../api-keys/creators.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { formatDialogue } from '../simulations/dialogue.ts'
import { findTest, getTest } from './queries.ts'
import {
  type CreateWorkflowTest,
  type NewWorkflowTest,
  TESTS_MAX,
  type UpdateWorkflowTest,
  type WorkflowTest,
  type WorkflowTestRef,
} from './schema.ts'

/** The list of the tests of a workflow returns all of them. */
const TEST_BYTES_MAX = 256 * 1024
const SECRET_PROBLEM =
  'contains what seems to be a secret, and every member can read tests. Create the test with an invented value of fewer than 16 characters'

export function createWorkflowTest(scope: Scope, { workflowId, ...test }: CreateWorkflowTest): Promise<WorkflowTest> {
  return insertTest(scope, { workflowId, ...toTestContent(scope, test) })
}

/** Converts the test of a request to the form in which tests are stored and run. */
export function toTestContent(scope: Scope, test: NewWorkflowTest): TestContent {
  const { name, trigger, input, dialogue, contact, stepOutputs, startsAt, expectation } = test
  return {
    name,
    trigger: trigger ?? null,
    input: input ?? null,
    dialogue: formatDialogue(dialogue),
    stepOutputs: stepOutputs ?? {},
    contact: contact === undefined ? {} : contact,
    startsAt: startsAt === undefined ? scope.now() : new Date(startsAt),
    opensConversation: true,
    expectation,
    sourceRunId: null,
  }
}

/** Fields of a test that its execution needs. */
export type TestContent = Pick<
  TestRow,
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
export async function insertTest(scope: Scope, test: TestContent & { workflowId: string }): Promise<WorkflowTest> {
  assertTestStorable(test)
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
      const row = { ...test, id: newId(), ...toCreatorColumns(tx), createdAt: now, updatedAt: now }
      await tx.query(TestRow).insert(row)
      tx.audit?.addTargets('test', [row.id])
      return getTest(tx, row.id)
    }),
  )
}

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
      const { id, name } = await findTest(tx, { workflowId, testId })
      tx.audit?.compareWith({ name })
      await tx
        .query(TestRow)
        .findOne('id', id)
        .patch({ ...definedFields(input), updatedAt: tx.now() })
      return getTest(tx, id)
    }),
  )
}

export function deleteWorkflowTest(scope: Scope, ref: WorkflowTestRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const { id } = await findTest(tx, ref)
    await tx.query(TestRow).where('id', id).delete()
    return {}
  })
}

/**
 * Checks the data of a test: its size, and that it contains no secret. `at` is the path of the test in its request.
 * @throws UnprocessableError `test_too_large`, `literal_secret`
 */
export function assertTestStorable(test: TestContent, at = ''): void {
  const { trigger, input, dialogue, stepOutputs, contact, expectation } = test
  assertStorable({ trigger, input, dialogue, stepOutputs, contact, expectation }, at)
}

function assertStorable(data: object, at = ''): void {
  if (Buffer.byteLength(JSON.stringify(data)) > TEST_BYTES_MAX) {
    throw new UnprocessableError('test_too_large', 'A test has at most 256 KB. Create one with shorter step outputs')
  }
  const found = findSecretValue(data)
  if (found === undefined) return
  const path = `${at}${found}`
  throw new UnprocessableError('literal_secret', `${path} ${SECRET_PROBLEM}`, [{ path, message: SECRET_PROBLEM }])
}
