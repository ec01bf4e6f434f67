import type { Problem } from '../../engine/language/definition/problems.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope/scope.ts'
import { runTests } from './run-workflow-tests.ts'

/** Runs the tests of a workflow that is being published. Failed tests are warnings and do not prevent publishing. */
export async function listTestWarnings(
  scope: Scope,
  workflow: PublishedWorkflow,
  realMsMax?: number,
): Promise<Problem[]> {
  const outcomes = await runTests(scope, workflow, realMsMax)
  const warn = (code: string, message: string): Problem => ({ stepId: null, code, message, path: '' })
  const notRun = outcomes.filter(({ status }) => status === 'not_run').length
  return [
    ...outcomes
      .filter(({ status }) => status === 'failed')
      .map(({ name, differences: [first = 'The result differs from the expectation'] }) =>
        warn('test_failed', `Test "${name}" failed. ${first}`),
      ),
    ...(notRun > 0
      ? [warn('tests_not_run', `${notRun} of ${outcomes.length} tests were not run because the others took too long`)]
      : []),
  ]
}
