import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { listPublished } from '../automation/published-workflows.ts'

/** The workflows that this one may run, or those may. */
export async function loadOtherWorkflows(
  scope: Scope,
  { workflowId, compiled }: PublishedWorkflow,
): Promise<PublishedWorkflow[]> {
  if (!compiled.steps.some(({ type }) => type === 'run_workflow')) return []
  return (await listPublished(scope)).filter((other) => other.workflowId !== workflowId)
}
