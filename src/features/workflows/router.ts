import { adminProcedure, agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { Run } from '../runs/schema.ts'
import { deleteWorkflow } from './changes.ts'
import { diffWorkflow } from './diff-definitions.ts'
import { getWorkflow, getWorkflowVersion, listWorkflowVersions, listWorkflows } from './queries.ts'
import * as schema from './schema.ts'
import { bulkStart, startWorkflow } from './start-workflow.ts'

export const workflowsRouter = router({
  list: viewerProcedure
    .meta(
      rest('GET', '/workflows', 'List workflows', {
        description: 'Lists workflows without their definitions. Archived workflows are included.',
      }),
    )
    .input(omittable(schema.ListWorkflows))
    .output(schema.Workflows)
    .query(({ ctx, input }) => listWorkflows(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/workflows/{workflowId}', 'Get a workflow', {
        description: 'Returns the workflow with the definition of its draft.',
      }),
    )
    .input(schema.WorkflowRef)
    .output(schema.WorkflowWithDefinition)
    .query(({ ctx, input }) => getWorkflow(ctx.scope, input)),

  delete: adminProcedure
    .meta(
      rest('DELETE', '/workflows/{workflowId}', 'Delete a workflow', {
        status: 204,
        description: 'The workflow must never have been published, or be archived without any runs.',
      }),
    )
    .input(schema.WorkflowRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteWorkflow(ctx.scope, input)),

  startRun: agentProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/runs', 'Start a workflow', {
        unaudited: 'the run names who started it',
        scope: 'runs:write',
        status: 201,
        example: { contactId: '0199a7a0-0000-7000-8000-000000000001', input: { order: 'A-1' } },
        description:
          'The published version must have a trigger of the type in `trigger`. The run is queued behind the pending work of its conversation.',
      }),
    )
    .input(schema.StartWorkflow)
    .output(Run)
    .mutation(({ ctx, input }) => startWorkflow(ctx.scope, input)),

  bulkStartRuns: agentProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/runs/bulk', 'Start a workflow for many contacts', {
        unaudited: 'the runs name who started them',
        scope: 'runs:write',
        idempotent: true,
        example: { contactIds: ['0199a7a0-0000-7000-8000-000000000001'], input: { order: 'A-1' } },
        description:
          'Starts a run for each of up to 500 contacts in one call, which counts as one. The answer has a result for each contact, in their order: one for which no run may be started fails by itself.',
      }),
    )
    .input(schema.BulkStart)
    .output(schema.BulkStartResults)
    .mutation(({ ctx, input }) => bulkStart(ctx.scope, input)),

  diff: viewerProcedure
    .meta(
      rest('GET', '/workflows/{workflowId}/diff', 'Compare two versions of a workflow', {
        description:
          'Lists the steps and triggers that were added, removed or changed, and changes of settings and variables.',
      }),
    )
    .input(schema.DiffWorkflow)
    .output(schema.WorkflowDiff)
    .query(({ ctx, input }) => diffWorkflow(ctx.scope, input)),

  listVersions: viewerProcedure
    .meta(
      rest('GET', '/workflows/{workflowId}/versions', 'List the versions of a workflow', {
        description: 'Sorted by version, newest first.',
      }),
    )
    .input(schema.WorkflowRef)
    .output(schema.WorkflowVersions)
    .query(({ ctx, input }) => listWorkflowVersions(ctx.scope, input)),

  getVersion: viewerProcedure
    .meta(
      rest('GET', '/workflows/{workflowId}/versions/{version}', 'Get a version of a workflow', {
        description: 'Returns the definition as it was published.',
      }),
    )
    .input(schema.WorkflowVersionRef)
    .output(schema.WorkflowVersion)
    .query(({ ctx, input }) => getWorkflowVersion(ctx.scope, input)),
})
