import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { listPublished, loadVersions } from '../automation/published-workflows.ts'
import { checkDefinitionTask, joinProblems } from '../definition-checks/check-definition.ts'
import { withResources } from '../templates/load-resources.ts'
import { getWorkflow, loadWorkflowVersion } from '../workflows/queries.ts'
import { UNPUBLISHED } from './run-simulation.ts'

type WorkflowRequest = { workflowId: string; definition?: unknown; version?: number | undefined }

/** Loads the workflow to simulate: a published version, the definition in the request, or the draft. */
export async function loadSimulatedWorkflow(scope: Scope, request: WorkflowRequest): Promise<PublishedWorkflow> {
  const workflow = await loadWorkflow(scope, request)
  const [loaded = workflow] = await withResources(scope, [workflow])
  return loaded
}

async function loadWorkflow(
  scope: Scope,
  { workflowId, definition, version }: WorkflowRequest,
): Promise<PublishedWorkflow> {
  const { name, definition: draft } = await getWorkflow(scope, { workflowId })
  if (version === undefined) {
    return { workflowId, name, version: UNPUBLISHED, compiled: await compileDraft(scope, definition ?? draft) }
  }
  await loadWorkflowVersion(scope, { workflowId, version })
  const compiled = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  if (!compiled) throw new NotFoundError('Workflow version')
  return { workflowId, name, version, compiled }
}

async function compileDraft(scope: Scope, definition: unknown): Promise<CompiledDefinition> {
  const check = await scope.compute(checkDefinitionTask, { definition, allowsLoopback: scope.allowsLoopback })
  if (check.compiled) return check.compiled
  const errors = joinProblems(check.errors)
  throw new UnprocessableError('workflow_invalid', errors[0]?.message ?? 'The definition is not valid', errors)
}

/** Loads the published workflows that a workflow can start; none if it has no `run_workflow` step. */
export async function loadOtherWorkflows(
  scope: Scope,
  { workflowId, compiled }: PublishedWorkflow,
): Promise<PublishedWorkflow[]> {
  if (!compiled.steps.some(({ type }) => type === 'run_workflow')) return []
  const others = (await listPublished(scope)).filter((other) => other.workflowId !== workflowId)
  return withResources(scope, others)
}
