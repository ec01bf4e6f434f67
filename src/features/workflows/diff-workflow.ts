import { Workflow as WorkflowRow } from '../../models/automation/workflow.ts'
import type { Scope } from '../../scope.ts'
import { diffDefinitions } from './diff-definitions.ts'
import { getWorkflowVersion } from './queries.ts'
import type { DiffWorkflow, WorkflowDiff } from './schema.ts'

const DRAFT = 'draft'

/** What differs between two versions of a workflow, or a version and its draft. */
export async function diffWorkflow(scope: Scope, { workflowId, from, to }: DiffWorkflow): Promise<WorkflowDiff> {
  const { draft } = await scope.get(WorkflowRow, workflowId)
  const read = async (side: string) =>
    side === DRAFT ? draft : (await getWorkflowVersion(scope, { workflowId, version: Number(side) })).definition
  return { from, to, ...diffDefinitions(await read(from), await read(to)) }
}
