import { expect } from 'chai'
import { queueResumption } from '../../../src/engine/model/new-run.ts'
import { DAY, HOUR } from '../../../src/platform/time.ts'
import { NOON, TestRun, buildFacts } from '../../support/workflow.ts'
import { ask, say } from '../../support/steps.ts'

describe('end of a run', () => {
  it('cancels the open step when a waiting run is canceled', () => {
    const run = new TestRun({ steps: [ask('a')] })
    run.start()
    const { steps, wait } = run.apply({ type: 'canceled' })
    expect(steps.map(({ index, status, finishedAt }) => [index, status, finishedAt])).to.deep.equal([
      [0, 'canceled', NOON],
    ])
    expect([run.run.status, run.run.open, wait]).to.deep.equal(['canceled', null, null])
  })

  it('expires a waiting run after its maximum duration', () => {
    const run = new TestRun({ settings: { maxDuration: '1d' }, steps: [ask('a', { timeout: '7d' })] })
    expect(run.start().wait).to.include({ until: '2026-03-09T12:00:00.000Z', wakeAt: '2026-03-03T12:00:00.000Z' })
    run.advanceClock(DAY + 1)
    expect(run.reply('too late').isConsumed).to.equal(false)
    run.apply({ type: 'timer', epoch: 1 })
    expect(run.run.status).to.equal('expired')
    expect(run.stepStatuses.at(-1)).to.equal('a:canceled')
  })

  it('fails with step_limit after 1,000 steps without a wait', () => {
    const rest = { left: '{{vars.rest}}', op: 'exists' }
    const run = new TestRun({
      variables: { rest: { type: 'string' } },
      steps: [
        { id: 'a', type: 'wait', for: '1m', if: rest },
        { id: 'b', type: 'set', values: { n: 1 }, next: 'a' },
      ],
    })
    const { steps } = run.start()
    expect(run.run.error?.code).to.equal('step_limit')
    expect(steps).to.have.lengthOf(1000)
  })

  it('fails with step_limit after 10,000 steps in total', () => {
    const run = new TestRun({
      settings: { maxDuration: '365d' },
      steps: [
        { id: 'a', type: 'wait', for: '1h' },
        { id: 'b', type: 'wait', for: '10s', next: 'a' },
      ],
    })
    run.start()
    while (run.run.status === 'waiting') run.fireTimer()
    expect(run.run.error?.code).to.equal('step_limit')
    expect(run.run.stepsCount).to.equal(10_000)
    expect(run.now.getTime() - Date.parse(NOON)).to.be.above(200 * DAY)
  })

  it('fails with the reason of a stop step', () => {
    const stopped = new TestRun({
      steps: [{ id: 'a', type: 'stop', status: 'failed', reason: 'No {{contact.fields.plan}}' }, say('b', 'x')],
    })
    stopped.start()
    expect(stopped.run).to.deep.include({
      status: 'failed',
      error: { code: 'stopped', message: 'No pro', stepId: 'a' },
    })
    expect(stopped.stepStatuses).to.deep.equal(['a:completed'])
  })

  it('leaves a finished run unchanged by any event', () => {
    const run = new TestRun({ steps: [say('a', 'x')] })
    run.start()
    for (const event of [
      { type: 'started' },
      { type: 'canceled' },
      { type: 'expired' },
      { type: 'timer', epoch: 0 },
    ] as const) {
      expect(run.apply(event).isConsumed).to.equal(false)
    }
    expect(run.run.status).to.equal('completed')
  })
})

describe('run resumed from a failed run', () => {
  it('repeats the failed step with the variables and outputs of the failed run', () => {
    const run = new TestRun({
      steps: [ask('city', { saveAs: 'vars.city' }), say('b', '{{vars.city}}, {{steps.city.output.text}}')],
    })
    run.start()
    run.advanceClock(2 * HOUR)
    run.reply('Rio')
    expect(run.run.error?.code).to.equal('outside_window')
    const id = '0199a7a0-0000-7000-8000-000000000009'
    run.run = queueResumption(run.run, { id, stepsCount: 1 }, run.now)
    run.facts = buildFacts({ conversation: { canSendFreeform: true } })
    const { steps } = run.start()
    expect(run.sent.at(-1)).to.equal('Rio, Rio')
    expect(steps.map(({ index, iteration, status }) => [index, iteration, status])).to.deep.equal([[1, 0, 'completed']])
    expect([run.run.id, run.run.status]).to.deep.equal([id, 'completed'])
  })
})
