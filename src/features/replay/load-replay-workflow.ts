import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Run as RunRow } from '../../models/automation/run.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { loadSimulatedWorkflow } from '../simulations/load-simulated-workflow.ts'
import { getWorkflow } from '../workflows/queries.ts'
import type { ReplayRun } from '../runs/schema.ts'

/** Loads the workflow that a replay executes: at the version of the original run, unless another one is requested. */
export async function loadReplayWorkflow(
  scope: Scope,
  { workflowId, workflowVersion }: RunRow,
  { version, mode }: Pick<ReplayRun, 'version' | 'mode'>,
): Promise<PublishedWorkflow> {
  if (version === 'draft') {
    if (mode === 'dry_run') return loadSimulatedWorkflow(scope, { workflowId })
    throw new UnprocessableError(
      'draft_requires_dry_run',
      'A draft can only be replayed with mode "dry_run". Publish the draft to replay it live',
    )
  }
  if (version !== 'published') {
    return loadSimulatedWorkflow(scope, { workflowId, version: version === 'original' ? workflowVersion : version })
  }
  const { version: published, status } = await getWorkflow(scope, { workflowId })
  if (published !== null && status === 'published')
    return loadSimulatedWorkflow(scope, { workflowId, version: published })
  throw new UnprocessableError('not_published', 'The workflow is not published. Pass a version number instead')
}
