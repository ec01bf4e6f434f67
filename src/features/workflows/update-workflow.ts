import { Workflow as WorkflowRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { toDraftColumns } from './draft-columns.ts'
import { assertNoLiteralSecrets } from './literal-secrets.ts'
import { getWorkflow } from './queries.ts'
import type { UpdateWorkflow, WorkflowWithDefinition } from './schema.ts'

/**
 * Changes the draft. The published version stays until the next publish.
 * @throws ConflictError `version_conflict`
 * @throws UnprocessableError `literal_secret`
 */
export async function updateWorkflow(scope: Scope, input: UpdateWorkflow): Promise<WorkflowWithDefinition> {
  const { workflowId, definition, draftRevision, ...columns } = input
  assertNoLiteralSecrets(definition)
  return scope.transaction(async (tx) => {
    const workflow = await tx.lock(WorkflowRow, workflowId)
    if (draftRevision !== undefined && draftRevision !== workflow.draftRevision) {
      throw new ConflictError(
        'version_conflict',
        'The draft has been changed since it was read. Read it again and repeat your change',
        {
          draftRevision: workflow.draftRevision,
        },
      )
    }
    await tx
      .query(WorkflowRow)
      .findOne('id', workflowId)
      .patch({
        ...definedFields(columns),
        ...(definition ? toDraftColumns(definition, workflow.draftRevision + 1) : {}),
        updatedAt: tx.now(),
      })
    await tx.record({ type: 'workflow.updated', data: { workflowId } })
    return getWorkflow(tx, { workflowId })
  })
}
