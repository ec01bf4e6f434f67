import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { loadVersions, listPublished } from '../automation/published-workflows.ts'
import { checkDefinition } from '../definition-checks/check-definition.ts'
import { getWorkflow, getWorkflowVersion } from '../workflows/queries.ts'

/** Stands for the version of a definition that is not published. */
export const UNPUBLISHED = 0

type Wanted = { workflowId: string; definition?: unknown; version?: number | undefined }

/** What is to be played: a published version, a definition that is given, or the draft. */
export async function loadSimulatedWorkflow(
  scope: Scope,
  { workflowId, definition, version }: Wanted,
): Promise<PublishedWorkflow> {
  const { name, definition: draft } = await getWorkflow(scope, { workflowId })
  if (version === undefined) {
    return { workflowId, name, version: UNPUBLISHED, compiled: compileDraft(scope, definition ?? draft) }
  }
  await getWorkflowVersion(scope, { workflowId, version })
  const compiled = (await loadVersions(scope, [{ workflowId, version }])).get(`${workflowId}:${version}`)
  return { workflowId, name, version, compiled: compiled as CompiledDefinition }
}

function compileDraft(scope: Scope, definition: unknown): CompiledDefinition {
  const { compiled, errors } = checkDefinition(definition, scope)
  if (compiled) return compiled
  throw new UnprocessableError('workflow_invalid', errors[0]?.message ?? 'The workflow is not valid', errors)
}

/** The workflows that this one may run, or those may. */
export async function loadOtherWorkflows(
  scope: Scope,
  { workflowId, compiled }: PublishedWorkflow,
): Promise<PublishedWorkflow[]> {
  if (!compiled.steps.some(({ type }) => type === 'run_workflow')) return []
  return (await listPublished(scope)).filter((other) => other.workflowId !== workflowId)
}
