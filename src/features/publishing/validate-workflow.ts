import { Workflow as WorkflowRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { checkInWorkspace } from '../definition-checks/check-in-workspace.ts'
import type { ValidateWorkflow, Validation } from './schema.ts'

/** Runs the checks of publishing on a definition, without storing anything. */
export async function validateWorkflow(
  scope: Scope,
  { definition, workflowId }: ValidateWorkflow,
): Promise<Validation> {
  if (workflowId !== undefined) await scope.get(WorkflowRow, workflowId)
  const { errors, warnings } = await checkInWorkspace(scope, definition, workflowId ?? null)
  return { valid: errors.length === 0, errors, warnings }
}
