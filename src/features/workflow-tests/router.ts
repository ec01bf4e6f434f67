import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createWorkflowTest, deleteWorkflowTest, updateWorkflowTest } from './changes.ts'
import { listWorkflowTests } from './queries.ts'
import { runWorkflowTests, testDefinition } from './run-workflow-tests.ts'
import { saveRunAsTest } from './save-run-as-test.ts'
import * as schema from './schema.ts'
import { WorkflowRef } from '../workflows/schema.ts'

export const workflowTestsRouter = router({
  listTests: viewerProcedure
    .meta(
      rest('GET', '/workflows/{workflowId}/tests', 'List the tests of a workflow', {
        description: 'Returns the tests with their dialogues and expectations.',
      }),
    )
    .input(WorkflowRef)
    .output(schema.WorkflowTests)
    .query(({ ctx, input }) => listWorkflowTests(ctx.scope, input)),

  createTest: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/tests', 'Create a workflow test', {
        status: 201,
        example: {
          name: 'Greets',
          dialogue: [{ type: 'message', body: 'hello' }],
          expectation: { status: 'completed', path: ['greet'] },
        },
        description:
          'A test simulates a dialogue and compares the result with an expectation; absent fields are not compared. Publishing runs all tests and returns a warning for each that fails.',
      }),
    )
    .input(schema.CreateWorkflowTest)
    .output(schema.WorkflowTest)
    .mutation(({ ctx, input }) => createWorkflowTest(ctx.scope, input)),

  updateTest: adminProcedure
    .meta(
      rest('PATCH', '/workflows/{workflowId}/tests/{testId}', 'Update a workflow test', {
        description: 'Fields that are left out stay as they are.',
        example: { name: 'Greets in English', expectation: { status: 'completed' } },
      }),
    )
    .input(schema.UpdateWorkflowTest)
    .output(schema.WorkflowTest)
    .mutation(({ ctx, input }) => updateWorkflowTest(ctx.scope, input)),

  deleteTest: adminProcedure
    .meta(
      rest('DELETE', '/workflows/{workflowId}/tests/{testId}', 'Delete a workflow test', {
        scope: 'workflows:write',
        description: 'Runs and versions of the workflow are not affected.',
        status: 204,
      }),
    )
    .input(schema.WorkflowTestRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteWorkflowTest(ctx.scope, input)),

  runTests: viewerProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/tests/run', 'Run the tests of a workflow', {
        unaudited: 'it stores nothing',
        example: {},
        description:
          'Runs the tests on the draft or on a version. Tests beyond the time limit are reported as `not_run`.',
      }),
    )
    .input(schema.RunWorkflowTests)
    .output(schema.TestOutcomes)
    .mutation(({ ctx, input }) => runWorkflowTests(ctx.scope, input)),

  testDefinition: viewerProcedure
    .meta(
      rest('POST', '/workflows/tests/run', 'Run tests on a workflow definition', {
        scope: 'workflows:read',
        unaudited: 'it stores nothing',
        example: {
          definition: { version: 1, triggers: [{ type: 'message_received' }], steps: [] },
          tests: [
            {
              name: 'Completes',
              dialogue: [{ type: 'message', body: 'hello' }],
              expectation: { status: 'completed' },
            },
          ],
        },
        description:
          'Runs the tests of the request, or those of a workflow, on the definition, and stores nothing. Responds with 200 even if tests fail or the definition has problems: read `items` and `problems`. Tests beyond the time limit are reported as `not_run`.',
      }),
    )
    .input(schema.TestDefinition)
    .output(schema.DefinitionOutcomes)
    .mutation(({ ctx, input }) => testDefinition(ctx.scope, input)),
})

export const runTestsRouter = router({
  saveAsTest: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/save-as-test', 'Save a run as a workflow test', {
        scope: 'workflows:write',
        status: 201,
        example: { name: 'Asks for the city' },
        description:
          'The messages and results of the run become the dialogue and the step outputs of the test; its outcome becomes the expectation. Responds with 409 `run_not_finished`, or 422 `run_is_dry_run`, `run_was_canceled`, or `run_is_partial_replay` for a replay that did not start at the first step.',
      }),
    )
    .input(schema.SaveRunAsTest)
    .output(schema.WorkflowTest)
    .mutation(({ ctx, input }) => saveRunAsTest(ctx.scope, input)),
})
