import { expect } from 'chai'
import { z } from 'zod'
import { defineStep } from '../../../src/engine/model/step.ts'
import { languageWith, NOON, PlayedRun, someFacts } from '../../support/workflow.ts'
import { ask, say } from '../../support/steps.ts'

/** Fails as often as it is told to, then works. */
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

describe('a step that fails', () => {
  it('fails its run, which says where and why', () => {
    const run = new PlayedRun(
      { steps: [say('a', 'x'), say('b', 'x')] },
      { facts: someFacts({ conversation: { windowExpiresAt: '2026-03-02T11:59:59.999Z' } }) },
    )
    const { steps } = run.start()
    expect(steps).to.have.lengthOf(1)
    expect(steps[0]).to.deep.include({ status: 'failed', finishedAt: NOON })
    expect(run.run.error).to.deep.include({ code: 'outside_window', stepId: 'a' })
    expect(run.run.status).to.equal('failed')
  })

  it('lets the run go on, if it says so', () => {
    const run = new PlayedRun(
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

  it('leads to the step that it names', () => {
    const run = new PlayedRun(
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

  it('is tried again, later each time, under the same index', () => {
    const run = new PlayedRun(
      { steps: [{ id: 'a', type: 'flaky', failures: 2, retry: { max: 3, delay: '10s' } }] },
      { registry },
    )
    expect(run.start().wait).to.include({ for: 'timer', until: '2026-03-02T12:00:10.000Z' })
    expect(run.ring().wait?.until).to.equal('2026-03-02T12:00:30.000Z')
    const { steps } = run.ring()
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

  it('is not tried more often than it says, nor at all where that can change nothing', () => {
    const steps = (retryable: boolean) => [
      { id: 'a', type: 'flaky', failures: 9, retryable, retry: { max: 1, backoff: 'fixed' } },
    ]
    const run = new PlayedRun({ steps: steps(true) }, { registry })
    run.start()
    run.ring()
    expect(run.run.error?.message).to.equal('Attempt 2 failed')
    const hopeless = new PlayedRun({ steps: steps(false) }, { registry })
    hopeless.start()
    expect(hopeless.run.status).to.equal('failed')
  })

  it('does nothing of what it would have done', () => {
    const run = new PlayedRun({
      variables: { n: { type: 'number' } },
      steps: [ask('a', { saveAs: 'vars.n' }), say('b', 'x')],
    })
    run.start()
    run.reply('many')
    expect(run.run.error).to.deep.include({ code: 'type_mismatch', stepId: 'a' })
    expect(run.run.variables).to.deep.equal({ n: null })
  })
})

describe('what is done outside', () => {
  const steps = [
    { id: 'a', type: 'look_up', what: '{{contact.name}}', timeout: '10s', saveAs: 'vars.found' },
    say('b', '{{vars.found.price}}'),
  ]

  it('is asked for by an effect, and comes back as a result', () => {
    const run = new PlayedRun({ steps }, { registry })
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
    expect(run.take({ type: 'external_result', epoch: 0, result: { ok: true, output: {} } }).isConsumed).to.equal(false)
    run.take({ type: 'external_result', epoch: 1, result: { ok: true, output: { price: 12 } } })
    expect(run.sent).to.deep.equal(['12'])
  })

  it('fails the step with its error, or when it takes too long', () => {
    const failed = new PlayedRun({ steps }, { registry })
    failed.start()
    failed.take({
      type: 'external_result',
      epoch: 1,
      result: { ok: false, error: { code: 'http_500', message: 'Broken' } },
    })
    expect(failed.run.error?.code).to.equal('http_500')
    const late = new PlayedRun({ steps }, { registry })
    late.start()
    late.ring()
    expect(late.run.error?.code).to.equal('timed_out')
  })
})
