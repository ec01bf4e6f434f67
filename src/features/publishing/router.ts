import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { definitionSchema } from '../workflows/definition-schema.ts'
import { WorkflowRef, WorkflowWithDefinition } from '../workflows/schema.ts'
import { archiveWorkflow, unarchiveWorkflow, unpublishWorkflow } from './change-status.ts'
import { publishWorkflow, validateWorkflow } from './publish-workflow.ts'
import * as schema from './schema.ts'

export const publishingRouter = router({
  validate: viewerProcedure
    .meta(
      rest('POST', '/workflows/validate', 'Validate a workflow definition', {
        scope: 'workflows:read',
        unaudited: 'it stores nothing',
        description: 'Stores nothing. Responds with 200 even if the definition has errors: read `valid`.',
      }),
    )
    .input(schema.ValidateWorkflow)
    .output(schema.Validation)
    .mutation(({ ctx, input }) => validateWorkflow(ctx.scope, input)),

  getDefinitionSchema: viewerProcedure
    .meta(
      rest('GET', '/workflows/definition-schema', 'Get the JSON Schema of workflow definitions', {
        description: 'Describes every trigger, step and condition that a definition may contain.',
      }),
    )
    .input(omittable(empty.strict()))
    .output(schema.DefinitionSchema)
    .query(() => definitionSchema()),

  publish: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/publish', 'Publish a workflow', {
        example: { note: 'Asks for the city first' },
        description:
          'Publishes the draft as a new version. New runs use it; current runs keep their version. An unchanged draft creates no version. Responds with 422 `workflow_invalid` and one detail per problem if the definition has errors. Responds with 409 `draft_changed` if the draft is changed meanwhile.',
      }),
    )
    .input(schema.PublishWorkflow)
    .output(schema.PublishedWorkflow)
    .mutation(({ ctx, input }) => publishWorkflow(ctx.scope, input)),

  unpublish: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/unpublish', 'Unpublish a workflow', {
        description: 'The workflow starts no new runs. Current runs continue.',
      }),
    )
    .input(WorkflowRef)
    .output(WorkflowWithDefinition)
    .mutation(({ ctx, input }) => unpublishWorkflow(ctx.scope, input)),

  archive: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/archive', 'Archive a workflow', {
        description: 'The workflow starts no new runs and cannot be published. Current runs continue.',
      }),
    )
    .input(WorkflowRef)
    .output(WorkflowWithDefinition)
    .mutation(({ ctx, input }) => archiveWorkflow(ctx.scope, input)),

  unarchive: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/unarchive', 'Unarchive a workflow', {
        description: 'The workflow becomes paused if it was ever published, otherwise a draft.',
      }),
    )
    .input(WorkflowRef)
    .output(WorkflowWithDefinition)
    .mutation(({ ctx, input }) => unarchiveWorkflow(ctx.scope, input)),
})
