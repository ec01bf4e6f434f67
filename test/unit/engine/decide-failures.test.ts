import { expect } from 'chai'
import { z } from 'zod'
import { defineStep } from '../../../src/engine/model/step.ts'
import { languageWith, NOON, TestRun, buildFacts } from '../../support/workflow.ts'
import { ask, say } from '../../support/steps.ts'

/** Fails for the configured number of attempts, then succeeds. */
const flaky = defineStep({
  type: 'flaky',
  schema: z.strictObject({ failures: z.number(), retryable: z.boolean().default(true) }),
  execute({ failures, retryable }, turn) {
    const error = { code: 'unlucky', message: `Attempt ${turn.attempt} failed`, retryable }
    return turn.attempt <= failures ? { kind: 'fail', error } : { kind: 'next', output: turn.attempt }
  },
})

const lookUp = defineStep({
  type: 'look_up',
  schema: z.strictObject({ what: z.string() }),
  execute: ({ what }, turn) => ({ kind: 'external', request: { what: turn.resolve(what) }, input: { what } }),
})

const registry = languageWith(flaky, lookUp)

describe('failing step', () => {
  it('fails its run with the error code and the step ID', () => {
    const run = new TestRun(
      { steps: [say('a', 'x'), say('b', 'x')] },
      { facts: buildFacts({ conversation: { windowExpiresAt: '2026-03-02T11:59:59.999Z' } }) },
    )
    const { steps } = run.start()
    expect(steps).to.have.lengthOf(1)
    expect(steps[0]).to.deep.include({ status: 'failed', finishedAt: NOON })
    expect(run.run.error).to.deep.include({ code: 'outside_window', stepId: 'a' })
    expect(run.run.status).to.equal('failed')
  })

  it('lets the run continue with onError continue', () => {
    const run = new TestRun(
      {
        steps: [
          { id: 'a', type: 'flaky', failures: 9, onError: 'continue' },
          say('b', '{{steps.a.output.error.message}}'),
        ],
      },
      { registry },
    )
    run.start()
    expect(run.sent).to.deep.equal(['Attempt 1 failed'])
    expect(run.run.status).to.equal('completed')
  })

  it('continues at the step that onError names', () => {
    const run = new TestRun(
      {
        steps: [
          { id: 'a', type: 'flaky', failures: 9, onError: 'c' },
          say('b', 'no', { next: 'end' }),
          say('c', 'yes'),
        ],
      },
      { registry },
    )
    run.start()
    expect(run.sent).to.deep.equal(['yes'])
  })

  it('is retried with increasing delays under the same step index', () => {
    const run = new TestRun(
      { steps: [{ id: 'a', type: 'flaky', failures: 2, retry: { max: 3, delay: '10s' } }] },
      { registry },
    )
    expect(run.start().wait).to.include({ for: 'timer', until: '2026-03-02T12:00:10.000Z' })
    expect(run.fireTimer().wait?.until).to.equal('2026-03-02T12:00:30.000Z')
    const { steps } = run.fireTimer()
    expect(
      run.decisions.map((decision) =>
        decision.steps.map(({ index, attempt, status, error }) => [index, attempt, status, error?.message ?? null]),
      ),
    ).to.deep.equal([
      [[0, 1, 'waiting', 'Attempt 1 failed']],
      [[0, 2, 'waiting', 'Attempt 2 failed']],
      [[0, 3, 'completed', null]],
    ])
    expect(steps[0]?.output).to.equal(3)
  })

  it('is retried at most max times and not after a non-retryable error', () => {
    const steps = (retryable: boolean) => [
      { id: 'a', type: 'flaky', failures: 9, retryable, retry: { max: 1, backoff: 'fixed' } },
    ]
    const run = new TestRun({ steps: steps(true) }, { registry })
    run.start()
    run.fireTimer()
    expect(run.run.error?.message).to.equal('Attempt 2 failed')
    const notRetried = new TestRun({ steps: steps(false) }, { registry })
    notRetried.start()
    expect(notRetried.run.status).to.equal('failed')
  })

  it('leaves the variables unchanged', () => {
    const run = new TestRun({
      variables: { n: { type: 'number' } },
      steps: [ask('a', { saveAs: 'vars.n' }), say('b', 'x')],
    })
    run.start()
    run.reply('many')
    expect(run.run.error).to.deep.include({ code: 'type_mismatch', stepId: 'a' })
    expect(run.run.variables).to.deep.equal({ n: null })
  })
})

describe('external step', () => {
  const steps = [
    { id: 'a', type: 'look_up', what: '{{contact.name}}', timeout: '10s', saveAs: 'vars.found' },
    say('b', '{{vars.found.price}}'),
  ]

  it('emits an effect and continues with its result', () => {
    const run = new TestRun({ steps }, { registry })
    const { call, wait } = run.start()
    expect(call).to.deep.equal({
      target: 'external',
      stepId: 'a',
      stepIndex: 0,
      epoch: 1,
      attempt: 1,
      timeoutMs: 10_000,
      request: { what: 'Ana' },
    })
    expect(wait).to.include({ for: 'result', epoch: 1, until: '2026-03-02T12:00:10.000Z' })
    expect(run.apply({ type: 'external_result', epoch: 0, result: { ok: true, output: {} } }).isConsumed).to.equal(
      false,
    )
    run.apply({ type: 'external_result', epoch: 1, result: { ok: true, output: { price: 12 } } })
    expect(run.sent).to.deep.equal(['12'])
  })

  it('fails with the error of its result or with timed_out', () => {
    const failed = new TestRun({ steps }, { registry })
    failed.start()
    failed.apply({
      type: 'external_result',
      epoch: 1,
      result: { ok: false, error: { code: 'http_500', message: 'Broken' } },
    })
    expect(failed.run.error?.code).to.equal('http_500')
    const timedOut = new TestRun({ steps }, { registry })
    timedOut.start()
    timedOut.fireTimer()
    expect(timedOut.run.error?.code).to.equal('timed_out')
  })
})
