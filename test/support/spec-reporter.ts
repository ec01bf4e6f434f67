import { relative } from 'node:path'
import mocha from 'mocha'
import { formatSlowestFiles } from './slowest-files.ts'

/**
 * Prints each failure when it happens, as the whole run takes long, and all of them again at the end, with the files that
 * took longest.
 */
export default class SpecReporter extends mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options)
    runner.on('fail', (test) => mocha.reporters.Base.list([test]))
    const times = new Map<string, number>()
    let startedAt = 0
    runner.on('suite', (suite) => {
      if (suite.parent?.root) startedAt = performance.now()
    })
    runner.on('suite end', ({ parent, file }) => {
      if (!parent?.root || file === undefined) return
      const path = relative(process.cwd(), file)
      times.set(path, (times.get(path) ?? 0) + performance.now() - startedAt)
    })
    runner.on('end', () => console.log(formatSlowestFiles(times)))
  }
}
