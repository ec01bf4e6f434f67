import type { Problem } from '../../engine/language/definition/problems.ts'
import type { PublishedWorkflow } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { runTests } from './run-workflow-tests.ts'

/** What the tests of a workflow say to what is about to be published: they warn, and stop nothing. */
export async function listTestWarnings(
  scope: Scope,
  subject: PublishedWorkflow,
  realMsMax?: number,
): Promise<Problem[]> {
  const outcomes = await runTests(scope, subject, realMsMax)
  const warn = (code: string, message: string): Problem => ({ stepId: null, code, message, path: '' })
  const notRun = outcomes.filter(({ status }) => status === 'not_run').length
  return [
    ...outcomes
      .filter(({ status }) => status === 'failed')
      .map(({ name, differences: [first = 'It came otherwise'] }) =>
        warn('test_failed', `Test "${name}" failed. ${first}`),
      ),
    ...(notRun > 0
      ? [warn('tests_not_run', `${notRun} of ${outcomes.length} tests were not run, because the others took too long`)]
      : []),
  ]
}
