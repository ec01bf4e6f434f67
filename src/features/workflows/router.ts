import { adminProcedure, agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { Run } from '../runs/schema.ts'
import { SimulateWorkflow, SimulationResult } from '../simulations/schema.ts'
import { simulateWorkflow } from '../simulations/simulate-workflow.ts'
import { getWebhook } from '../workflow-webhooks/get-webhook.ts'
import { WEBHOOK_PROTOCOL } from '../workflow-webhooks/protocol.ts'
import { rotateSecret } from '../workflow-webhooks/rotate-secret.ts'
import { archiveWorkflow, unarchiveWorkflow } from '../publishing/archive-workflow.ts'
import { createWorkflow } from './create-workflow.ts'
import { definitionSchema } from '../definition-checks/definition-schema.ts'
import { deleteWorkflow } from './delete-workflow.ts'
import { diffWorkflow } from './diff-workflow.ts'
import { duplicateWorkflow } from './duplicate-workflow.ts'
import { getWorkflow } from './get-workflow.ts'
import { getWorkflowVersion } from './get-workflow-version.ts'
import { listWorkflowVersions } from './list-workflow-versions.ts'
import { listWorkflows } from './list-workflows.ts'
import { publishWorkflow } from '../publishing/publish-workflow.ts'
import { restoreVersion } from './restore-version.ts'
import * as schema from './schema.ts'
import { testProcedures } from '../workflow-tests/router.ts'
import { startWorkflow } from './start-workflow.ts'
import { unpublishWorkflow } from '../publishing/unpublish-workflow.ts'
import { updateWorkflow } from './update-workflow.ts'
import { validateWorkflow } from '../publishing/validate-workflow.ts'

export const workflowsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/workflows', 'List all workflows'))
    .input(schema.ListWorkflows)
    .output(schema.Workflows)
    .query(({ ctx, input }) => listWorkflows(ctx.scope, input)),

  create: adminProcedure
    .meta(rest('POST', '/workflows', 'Create a workflow', { status: 201 }))
    .input(schema.CreateWorkflow)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => createWorkflow(ctx.scope, input)),

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

  get: viewerProcedure
    .meta(rest('GET', '/workflows/{workflowId}', 'Get a workflow with its draft'))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .query(({ ctx, input }) => getWorkflow(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/workflows/{workflowId}', "Change a workflow's name, description or draft"))
    .input(schema.UpdateWorkflow)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => updateWorkflow(ctx.scope, input)),

  delete: adminProcedure
    .meta(
      rest(
        'DELETE',
        '/workflows/{workflowId}',
        'Delete a workflow that was never published, or is archived and never ran',
        { status: 204 },
      ),
    )
    .input(schema.WorkflowRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteWorkflow(ctx.scope, input)),

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

  start: agentProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/runs', 'Start a run of a published workflow', {
        status: 201,
        example: { contactId: '0199a7a0-0000-7000-8000-000000000001', input: { order: 'A-1' } },
        description:
          'The workflow needs a trigger of type `api` or `manual`, as `trigger` says. The run is queued behind what its conversation still has to do.',
      }),
    )
    .input(schema.StartWorkflow)
    .output(Run)
    .mutation(({ ctx, input }) => startWorkflow(ctx.scope, input)),

  unpublish: adminProcedure
    .meta(rest('POST', '/workflows/{workflowId}/unpublish', 'Start no new runs; those under way go on'))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => unpublishWorkflow(ctx.scope, input)),

  webhook: adminProcedure
    .meta(rest('GET', '/workflows/{workflowId}/webhook', 'Get where the webhook of a workflow is called'))
    .input(schema.WorkflowRef)
    .output(schema.Webhook)
    .query(({ ctx, input }) => getWebhook(ctx.scope, input)),

  rotateWebhookSecret: adminProcedure
    .meta(
      rest(
        'POST',
        '/workflows/{workflowId}/webhook/rotate-secret',
        'Make a new secret for the webhook; the old one ends',
        {
          description: WEBHOOK_PROTOCOL,
        },
      ),
    )
    .input(schema.WorkflowRef)
    .output(schema.WebhookSecret)
    .mutation(({ ctx, input }) => rotateSecret(ctx.scope, input)),

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

  duplicate: adminProcedure
    .meta(rest('POST', '/workflows/{workflowId}/duplicate', 'Make a new draft of a draft', { status: 201 }))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => duplicateWorkflow(ctx.scope, input)),

  diff: viewerProcedure
    .meta(rest('GET', '/workflows/{workflowId}/diff', 'Compare two versions, or a version and the draft'))
    .input(schema.DiffWorkflow)
    .output(schema.WorkflowDiff)
    .query(({ ctx, input }) => diffWorkflow(ctx.scope, input)),

  versions: viewerProcedure
    .meta(rest('GET', '/workflows/{workflowId}/versions', 'List the published versions, newest first'))
    .input(schema.WorkflowRef)
    .output(schema.WorkflowVersions)
    .query(({ ctx, input }) => listWorkflowVersions(ctx.scope, input)),

  version: viewerProcedure
    .meta(rest('GET', '/workflows/{workflowId}/versions/{version}', 'Get a published version'))
    .input(schema.WorkflowVersionRef)
    .output(schema.WorkflowVersion)
    .query(({ ctx, input }) => getWorkflowVersion(ctx.scope, input)),

  restore: adminProcedure
    .meta(rest('POST', '/workflows/{workflowId}/versions/{version}/restore', 'Make the draft what a version was'))
    .input(schema.RestoreVersion)
    .output(schema.WorkflowWithDefinition)
    .mutation(({ ctx, input }) => restoreVersion(ctx.scope, input)),

  simulate: viewerProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/simulate', 'Play a dialogue, or a past conversation, and do nothing', {
        description:
          'Nothing is sent, asked of the outside or stored. Waits take no time: the clock of the simulation jumps. 422 `workflow_invalid`, `unknown_step`, or `not_external_step` for an output of a step that asks nothing of the outside.',
        example: {
          dialogue: [
            { type: 'message', body: 'hello' },
            { type: 'message', body: 'Porto', after: '10m' },
          ],
          contact: { name: 'Ana Souza' },
        },
      }),
    )
    .input(SimulateWorkflow)
    .output(SimulationResult)
    .mutation(({ ctx, input }) => simulateWorkflow(ctx.scope, input)),

  ...testProcedures,
})
