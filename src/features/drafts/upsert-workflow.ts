import { isDeepStrictEqual } from 'node:util'
import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { AppError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertNotArchived, publishWorkflow } from '../publishing/publish-workflow.ts'
import { createWorkflow, updateWorkflow } from '../workflows/changes.ts'
import { getWorkflow } from '../workflows/queries.ts'
import type { WorkflowWithDefinition } from '../workflows/schema.ts'
import { checkDraft } from './check-draft.ts'
import type { UpsertedWorkflow, UpsertWorkflow } from './schema.ts'

type Saved = { workflow: WorkflowWithDefinition; result: UpsertedWorkflow['result'] }

/**
 * Creates the workflow of a key, or changes its draft if it differs. The same call again changes nothing, and publishes
 * nothing. A draft that cannot be published is not stored if it should be.
 * @throws ConflictError `workflow_archived`, `too_many_workflows`, `too_many_versions`, and `draft_changed` by another call
 * before it was published
 * @throws UnprocessableError `workflow_invalid`, `literal_secret`
 * @throws UnavailableError before anything is stored, if the draft should be published and the server is busy
 */
export async function upsertWorkflow(scope: Scope, input: UpsertWorkflow): Promise<UpsertedWorkflow> {
  const existing = await scope.query(WorkflowRow).findOne({ key: input.key })
  const check = await checkDraft(scope, input.definition, existing?.id ?? null, { isRequired: input.publish })
  const [problem] = check.problems
  if (input.publish) {
    if (existing) assertNotArchived(existing)
    if (problem) throw new UnprocessableError('workflow_invalid', problem.message, check.problems)
  }
  const { workflow, result } = await save(scope, input)
  if (!input.publish) return { ...workflow, ...check, result, published: false }
  const { warnings, ...published } = await publishWorkflow(scope, { workflowId: workflow.id }, workflow.definition)
  return { ...published, problems: [], warnings, result, published: published.version !== workflow.version }
}

async function save(scope: Scope, input: UpsertWorkflow): Promise<Saved> {
  try {
    return await saveOnce(scope, input)
  } catch (error) {
    // Another call has created the workflow meanwhile.
    if (error instanceof AppError && error.code === 'workflow_key_taken') return saveOnce(scope, input)
    throw error
  }
}

function saveOnce(
  scope: Scope,
  { key, name, description = null, definition, publish }: UpsertWorkflow,
): Promise<Saved> {
  return scope.transaction(async (tx) => {
    const row = await tx.query(WorkflowRow).findOne({ key }).forUpdate()
    if (!row) {
      return { workflow: await createWorkflow(tx, { key, name, description, definition }), result: 'created' }
    }
    tx.audit?.addTargets('workflow', [row.id])
    const draft: unknown = JSON.parse(JSON.stringify(definition))
    const isDraftSame = isDeepStrictEqual(row.draft, draft)
    if (isDraftSame && row.name === name && row.description === description) {
      if (!publish) tx.audit?.drop()
      return { workflow: await getWorkflow(tx, { workflowId: row.id }), result: 'unchanged' }
    }
    const changes = { workflowId: row.id, name, description, ...(isDraftSame ? {} : { definition }) }
    return { workflow: await updateWorkflow(tx, changes), result: 'changed' }
  })
}
