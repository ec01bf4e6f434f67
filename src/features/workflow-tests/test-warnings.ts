import type { Problem } from '../../engine/language/definition/problems.ts'
import type { Published } from '../../engine/model/subject.ts'
import type { Scope } from '../../scope.ts'
import { playTests } from './run-workflow-tests.ts'

/** What the tests of a workflow say to what is about to be published: they warn, and stop nothing. */
export async function warnOfTests(scope: Scope, subject: Published, realMsMax?: number): Promise<Problem[]> {
  const outcomes = await playTests(scope, subject, realMsMax)
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
