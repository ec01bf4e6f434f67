import { Workflow as WorkflowRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import { diffDefinitions } from './diff-definitions.ts'
import { getWorkflowVersion } from './queries.ts'
import type { DiffWorkflow, WorkflowDiff } from './schema.ts'

const DRAFT = 'draft'

/** Compares two versions of a workflow, or a version with the draft. */
export async function diffWorkflow(scope: Scope, { workflowId, from, to }: DiffWorkflow): Promise<WorkflowDiff> {
  const { draft } = await scope.get(WorkflowRow, workflowId)
  const loadDefinition = async (side: string) =>
    side === DRAFT ? draft : (await getWorkflowVersion(scope, { workflowId, version: Number(side) })).definition
  return { from, to, ...diffDefinitions(await loadDefinition(from), await loadDefinition(to)) }
}
