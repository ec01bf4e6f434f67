import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createWorkflowTest } from './create-workflow-test.ts'
import { deleteWorkflowTest, listWorkflowTests } from './queries.ts'
import { runWorkflowTests } from './run-workflow-tests.ts'
import { saveRunAsTest } from './save-run-as-test.ts'
import * as tests from './schema.ts'
import { updateWorkflowTest } from './update-workflow-test.ts'
import { WorkflowRef } from '../workflows/schema.ts'

export const workflowTestsRouter = router({
  tests: viewerProcedure
    .meta(rest('GET', '/workflows/{workflowId}/tests', 'List the tests of a workflow, the oldest first'))
    .input(WorkflowRef)
    .output(tests.WorkflowTests)
    .query(({ ctx, input }) => listWorkflowTests(ctx.scope, input)),

  createTest: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/tests', 'Keep a dialogue, and what is expected of it, as a test', {
        status: 201,
        example: {
          name: 'Greets',
          dialogue: [{ type: 'message', body: 'hello' }],
          expectation: { status: 'completed', path: ['greet'] },
        },
        description:
          'What the expectation leaves out may be anything. Publishing plays the tests, and warns of those that fail.',
      }),
    )
    .input(tests.CreateWorkflowTest)
    .output(tests.WorkflowTest)
    .mutation(({ ctx, input }) => createWorkflowTest(ctx.scope, input)),

  updateTest: adminProcedure
    .meta(
      rest('PATCH', '/workflows/{workflowId}/tests/{testId}', "Change a test's name or what it expects", {
        example: { name: 'Greets in English', expectation: { status: 'completed' } },
      }),
    )
    .input(tests.UpdateWorkflowTest)
    .output(tests.WorkflowTest)
    .mutation(({ ctx, input }) => updateWorkflowTest(ctx.scope, input)),

  deleteTest: adminProcedure
    .meta(rest('DELETE', '/workflows/{workflowId}/tests/{testId}', 'Delete a test', { status: 204 }))
    .input(tests.WorkflowTestRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteWorkflowTest(ctx.scope, input)),

  runTests: viewerProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/tests/run', 'Play all tests against the draft, or against a version', {
        example: {},
        description: 'All for which there is time: the others are `not_run`.',
      }),
    )
    .input(tests.RunWorkflowTests)
    .output(tests.TestOutcomes)
    .mutation(({ ctx, input }) => runWorkflowTests(ctx.scope, input)),
})

export const runTestsRouter = router({
  saveAsTest: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/save-as-test', 'Keep what a run met and did as a test of its workflow', {
        status: 201,
        example: { name: 'Asks for the city' },
        description:
          'What the customer said and what the outside answered is played again; what the workflow did is what is expected. 409 `run_not_finished`; 422 `run_is_dry_run`, `run_was_canceled`, or `run_is_partial_replay` for a replay that began in the middle.',
      }),
    )
    .input(tests.SaveRunAsTest)
    .output(tests.WorkflowTest)
    .mutation(({ ctx, input }) => saveRunAsTest(ctx.scope, input)),
})
