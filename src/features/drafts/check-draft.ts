import type { Problem } from '../../engine/language/definition/problems.ts'
import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { BudgetExceededError, UnavailableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Commit } from '../../trpc/idempotency.ts'
import { checkInWorkspace } from '../definition-checks/check-in-workspace.ts'
import {
  createWorkflow,
  duplicateWorkflow,
  EMPTY_DEFINITION,
  restoreVersion,
  updateWorkflow,
} from '../workflows/changes.ts'
import { getWorkflowVersion } from '../workflows/queries.ts'
import type { CreateWorkflow, RestoreVersion, UpdateWorkflow, WorkflowRef } from '../workflows/schema.ts'
import type { CheckedWorkflow } from './schema.ts'

export type DraftCheck = Pick<CheckedWorkflow, 'problems' | 'warnings'>

const NOT_CHECKED =
  'The draft is stored, but was not checked, as the server is busy. Check it with POST /api/workflows/validate'

/**
 * Runs the checks of publishing on a draft that is being stored. It is stored as well if they are not possible, unless they
 * are required.
 * @throws UnavailableError if they are required and the server is busy
 */
export async function checkDraft(
  scope: Scope,
  definition: unknown,
  workflowId: string | null,
  { isRequired = false } = {},
): Promise<DraftCheck> {
  try {
    const { errors, warnings } = await checkInWorkspace(scope, definition, workflowId)
    return { problems: errors, warnings }
  } catch (error) {
    if (error instanceof BudgetExceededError) return { problems: [toProblem(error.code, error.message)], warnings: [] }
    if (error instanceof UnavailableError && !isRequired)
      return { problems: [], warnings: [toProblem('not_checked', NOT_CHECKED)] }
    throw error
  }
}

function toProblem(code: string, message: string): Problem {
  return { stepId: null, code, path: '', message }
}

// The checks wait for a compute thread, so they run before the transaction of the change.

export async function createCheckedWorkflow(
  scope: Scope,
  input: CreateWorkflow,
  commit: Commit,
): Promise<CheckedWorkflow> {
  const check = await checkDraft(scope, input.definition ?? EMPTY_DEFINITION, null)
  return commit(async (tx) => ({ ...(await createWorkflow(tx, input)), ...check }))
}

export async function updateCheckedWorkflow(scope: Scope, input: UpdateWorkflow): Promise<CheckedWorkflow> {
  const { draft } = await scope.get(WorkflowRow, input.workflowId)
  const check = await checkDraft(scope, input.definition ?? draft, input.workflowId)
  return { ...(await updateWorkflow(scope, input)), ...check }
}

export async function duplicateCheckedWorkflow(
  scope: Scope,
  input: WorkflowRef,
  commit: Commit,
): Promise<CheckedWorkflow> {
  const { draft } = await scope.get(WorkflowRow, input.workflowId)
  const check = await checkDraft(scope, draft, null)
  return commit(async (tx) => ({ ...(await duplicateWorkflow(tx, input)), ...check }))
}

export async function restoreCheckedVersion(scope: Scope, input: RestoreVersion): Promise<CheckedWorkflow> {
  const { definition } = await getWorkflowVersion(scope, input)
  const check = await checkDraft(scope, definition, input.workflowId)
  return { ...(await restoreVersion(scope, input)), ...check }
}
