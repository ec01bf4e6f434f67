import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import * as workflows from '../workflows/schema.ts'
import {
  createCheckedWorkflow,
  duplicateCheckedWorkflow,
  restoreCheckedVersion,
  updateCheckedWorkflow,
} from './check-draft.ts'
import { CheckedWorkflow, UpsertedWorkflow, UpsertWorkflow } from './schema.ts'
import { upsertWorkflow } from './upsert-workflow.ts'

export const draftsRouter = router({
  create: adminProcedure
    .meta(
      rest('POST', '/workflows', 'Create a workflow', {
        description:
          'Creates a draft, which starts no runs until it is published. A definition with mistakes is stored, too: read `problems`.',
        status: 201,
        idempotent: 'commit',
      }),
    )
    .input(workflows.CreateWorkflow)
    .output(CheckedWorkflow)
    .mutation(({ ctx, input }) =>
      ctx.once(CheckedWorkflow, (commit) => createCheckedWorkflow(ctx.scope, input, commit)),
    ),

  upsert: adminProcedure
    .meta(
      rest('PUT', '/workflows/by-key/{key}', 'Create or update the workflow of a key', {
        description:
          'Creates the workflow, or changes its draft if it differs. The same call again changes nothing. With `publish` the draft is published as well, or nothing is stored if it has problems: the call responds with 422 `workflow_invalid`.',
      }),
    )
    .input(UpsertWorkflow)
    .output(UpsertedWorkflow)
    .mutation(({ ctx, input }) => upsertWorkflow(ctx.scope, input)),

  update: adminProcedure
    .meta(
      rest('PATCH', '/workflows/{workflowId}', 'Update a workflow', {
        description:
          'Changes the draft. The published version stays as it is until the draft is published. A definition with mistakes is stored, too: read `problems`.',
      }),
    )
    .input(workflows.UpdateWorkflow)
    .output(CheckedWorkflow)
    .mutation(({ ctx, input }) => updateCheckedWorkflow(ctx.scope, input)),

  duplicate: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/duplicate', 'Duplicate a workflow', {
        description: 'Copies the draft into a new workflow, without versions and runs.',
        status: 201,
        idempotent: 'commit',
      }),
    )
    .input(workflows.WorkflowRef)
    .output(CheckedWorkflow)
    .mutation(({ ctx, input }) =>
      ctx.once(CheckedWorkflow, (commit) => duplicateCheckedWorkflow(ctx.scope, input, commit)),
    ),

  restoreVersion: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/versions/{version}/restore', 'Restore a version as the draft', {
        description: 'Replaces the draft by the definition of the version, and publishes nothing.',
      }),
    )
    .input(workflows.RestoreVersion)
    .output(CheckedWorkflow)
    .mutation(({ ctx, input }) => restoreCheckedVersion(ctx.scope, input)),
})
