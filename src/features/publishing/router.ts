import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { definitionSchema } from '../definition-checks/definition-schema.ts'
import * as schema from '../workflows/schema.ts'
import { archiveWorkflow, unarchiveWorkflow } from './archive-workflow.ts'
import { publishWorkflow } from './publish-workflow.ts'
import { unpublishWorkflow } from './unpublish-workflow.ts'
import { validateWorkflow } from './validate-workflow.ts'

export const publishingRouter = router({
  validate: viewerProcedure
    .meta(
      rest('POST', '/workflows/validate', 'Say what publishing a definition would say', {
        description: 'Changes nothing. Answers 200 also for a definition with errors: `valid` tells.',
      }),
    )
    .input(schema.ValidateWorkflow)
    .output(schema.Validation)
    .mutation(({ ctx, input }) => validateWorkflow(ctx.scope, input)),

  definitionSchema: viewerProcedure
    .meta(rest('GET', '/workflows/definition-schema', 'Get the JSON Schema of definitions'))
    .input(empty.strict())
    .output(schema.DefinitionSchema)
    .query(() => definitionSchema()),

  publish: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/publish', 'Publish the draft as a new version', {
        example: { note: 'Asks for the city first' },
        description:
          'New runs take the new version; those under way keep theirs. A draft that is as published makes no version. 422 `workflow_invalid` with one detail for each problem, by step.',
      }),
    )
    .input(schema.PublishWorkflow)
    .output(schema.PublishedWorkflow)
    .mutation(({ ctx, input }) => publishWorkflow(ctx.scope, input)),

  unpublish: adminProcedure
    .meta(rest('POST', '/workflows/{workflowId}/unpublish', 'Start no new runs; those under way go on'))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => unpublishWorkflow(ctx.scope, input)),

  archive: adminProcedure
    .meta(rest('POST', '/workflows/{workflowId}/archive', 'Put a workflow away; runs under way go on'))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => archiveWorkflow(ctx.scope, input)),

  unarchive: adminProcedure
    .meta(rest('POST', '/workflows/{workflowId}/unarchive', 'Take a workflow out of the archive, paused or a draft'))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => unarchiveWorkflow(ctx.scope, input)),
})
