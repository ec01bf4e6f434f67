import type { Published } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { listPublished } from '../automation/published-workflows.ts'

/** The workflows that this one may run, or those may. */
export async function loadOthers(scope: Scope, { workflowId, compiled }: Published): Promise<Published[]> {
  if (!compiled.steps.some(({ type }) => type === 'run_workflow')) return []
  return (await listPublished(scope)).filter((other) => other.workflowId !== workflowId)
}
