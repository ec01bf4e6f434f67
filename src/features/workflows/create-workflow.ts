import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { toDraftColumns } from './draft-columns.ts'
import { assertNoLiteralSecrets } from './literal-secrets.ts'
import { getWorkflow } from './queries.ts'
import type { CreateWorkflow, WorkflowWithDefinition } from './schema.ts'

const EMPTY = { version: 1, triggers: [], steps: [] }

/**
 * Creates a draft. Without a definition the draft is empty, and can be published as it is.
 * @throws ConflictError `too_many_workflows`
 * @throws UnprocessableError `literal_secret`
 */
export async function createWorkflow(
  scope: Scope,
  { id: workflowId = newId(), ...input }: CreateWorkflow & { id?: string },
): Promise<WorkflowWithDefinition> {
  assertNoLiteralSecrets(input.definition)
  return scope.transaction(async (tx) => {
    await assertRowLimit(tx, 'workflows')
    const now = tx.now()
    await tx.query(WorkflowRow).insert({
      id: workflowId,
      name: input.name,
      description: input.description ?? null,
      status: 'draft',
      ...toDraftColumns(input.definition ?? EMPTY, 1),
      createdBy: tx.actor.type === 'user' ? tx.actor.id : null,
      createdAt: now,
      updatedAt: now,
    })
    await tx.record({ type: 'workflow.created', data: { workflowId } })
    return getWorkflow(tx, { workflowId })
  })
}
