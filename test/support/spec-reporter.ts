import mocha from 'mocha'

/** Prints each failure when it happens, as the whole run takes long, and all of them again at the end. */
export default class SpecReporter extends mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options)
    runner.on('fail', (test) => mocha.reporters.Base.list([test]))
  }
}
