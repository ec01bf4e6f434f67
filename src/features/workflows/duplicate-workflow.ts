import { Workflow as WorkflowRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { createWorkflow } from './create-workflow.ts'
import { NAME_MAX, type WorkflowRef, type WorkflowWithDefinition } from './schema.ts'

/** Creates a workflow from the draft of another one. */
export async function duplicateWorkflow(scope: Scope, { workflowId }: WorkflowRef): Promise<WorkflowWithDefinition> {
  const { name, description, draft } = await scope.get(WorkflowRow, workflowId)
  const copyName = `Copy of ${name}`.slice(0, NAME_MAX).toWellFormed().trim()
  return createWorkflow(scope, { name: copyName, description, definition: draft })
}
