import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { NOON, TestRun, RUN_ID, buildFacts } from '../../support/workflow.ts'
import { ask, say } from '../../support/steps.ts'

const no = { left: 1, op: 'eq', right: 2 }

describe('decide', () => {
  it('executes all steps in one decision and completes the run after the last', () => {
    const run = new TestRun({ steps: [say('a', 'Hi {{contact.name}}'), say('b', 'Bye')] })
    const { isConsumed, wait } = run.start()
    expect([isConsumed, wait, run.run.status, run.run.stepId]).to.deep.equal([true, null, 'completed', null])
    expect(run.sent).to.deep.equal(['Hi Ana', 'Bye'])
    expect(run.stepStatuses).to.deep.equal(['a:completed', 'b:completed'])
    expect(run.run).to.include({ stepsCount: 2, startedAt: NOON, finishedAt: NOON })
  })

  it('completes a run without steps immediately', () => {
    const run = new TestRun({ steps: [] })
    run.start()
    expect(run.run.status).to.equal('completed')
  })

  it('ignores a second start', () => {
    const run = new TestRun({ steps: [ask('a')] })
    run.start()
    expect(run.start().isConsumed).to.equal(false)
    expect(run.sent).to.have.lengthOf(1)
  })

  it('waits for a reply and completes the same step record with it', () => {
    const run = new TestRun({
      steps: [
        ask('city', { saveAs: 'vars.city' }),
        say('b', '{{vars.city}}! {{message.body}} {{steps.city.output.text}}'),
      ],
    })
    const { wait, steps } = run.start()
    expect(wait).to.deep.include({ for: 'reply', stepId: 'city', epoch: 1, until: null })
    expect(run.run.status).to.equal('waiting')
    run.advanceClock(MINUTE)
    const reply = run.reply('Rio')
    expect(reply.steps[0]).to.deep.include({
      id: steps[0]?.id,
      index: 0,
      status: 'completed',
      startedAt: NOON,
      finishedAt: '2026-03-02T12:01:00.000Z',
    })
    expect(run.sent).to.deep.equal(['city?', 'Rio! Rio Rio'])
    expect(run.run.status).to.equal('completed')
  })

  it('does not consume a reply that the run does not wait for', () => {
    const run = new TestRun({ steps: [{ id: 'a', type: 'wait', for: '1h' }] })
    run.start()
    const before = run.run
    expect(run.reply('hello').isConsumed).to.equal(false)
    expect(run.run).to.equal(before)
  })

  it('continues at the onTimeout step when no reply arrives', () => {
    const run = new TestRun({
      steps: [
        ask('a', { timeout: '1h', onTimeout: 'c' }),
        say('b', 'thanks', { next: 'end' }),
        say('c', 'still there?'),
      ],
    })
    expect(run.start().wait).to.include({ until: '2026-03-02T13:00:00.000Z', wakeAt: '2026-03-02T13:00:00.000Z' })
    run.facts = buildFacts({ conversation: { canSendFreeform: true } })
    const { steps } = run.fireTimer()
    expect(steps[0]).to.include({ stepId: 'a', status: 'completed', branch: 'timeout' })
    expect(run.sent).to.deep.equal(['a?', 'still there?'])
  })

  it('consumes either the reply or the timer of a wait', () => {
    const run = new TestRun({ steps: [ask('a', { timeout: '1h', onTimeout: 'end' }), ask('b', { timeout: '1h' })] })
    run.start()
    run.reply('first')
    expect(run.apply({ type: 'timer', epoch: 1 }).isConsumed).to.equal(false)
    expect(run.run.stepId).to.equal('b')
    run.apply({ type: 'timer', epoch: 2 })
    expect(run.reply('late').isConsumed).to.equal(false)
  })

  it('waits for a duration and until a local time of its time zone', () => {
    const run = new TestRun({
      settings: { timezone: 'contact' },
      steps: [
        { id: 'a', type: 'wait', for: '90m' },
        { id: 'b', type: 'wait', until: '2026-03-05 09:00' },
        { id: 'c', type: 'wait', until: '2020-01-01' },
      ],
    })
    expect(run.start().wait?.until).to.equal('2026-03-02T13:30:00.000Z')
    expect(run.fireTimer().wait?.until).to.equal('2026-03-05T12:00:00.000Z')
    run.fireTimer()
    expect(run.run.status).to.equal('completed')
  })

  it('evaluates the condition of a loop step once, not in every iteration', () => {
    const run = new TestRun(
      {
        variables: { n: { type: 'number', default: 0 } },
        steps: [
          {
            id: 'each',
            type: 'loop',
            over: '{{input}}',
            max: 5,
            if: { left: '{{vars.n}}', op: 'eq', right: 0 },
            steps: [{ id: 'count', type: 'set', values: { n: '{{vars.n | plus: 1}}' } }],
          },
        ],
      },
      { input: ['a', 'b', 'c'] },
    )
    run.start()
    expect(run.run.variables).to.deep.equal({ n: 3 })
  })

  it('skips steps that are disabled or whose condition is false', () => {
    const run = new TestRun({
      steps: [say('a', '1', { disabled: true }), say('b', '2', { if: no, next: 'd' }), say('c', '3'), say('d', '4')],
    })
    run.start()
    expect(run.stepStatuses).to.deep.equal(['a:skipped', 'b:skipped', 'd:completed'])
  })

  it('shows later steps of a decision the changes of earlier ones', () => {
    const run = new TestRun({
      steps: [
        { id: 'a', type: 'add_tag', tags: ['New'] },
        { id: 'b', type: 'remove_tag', tags: ['VIP'] },
        {
          id: 'c',
          type: 'update_contact',
          values: { name: 'Bia', fields: { plan: null, seats: '{{ 1 | plus: 1 }}' } },
        },
        say('d', '{{contact.name}} {{contact.tags | join: "+"}} {{contact.fields}}'),
      ],
    })
    run.start()
    expect(run.sent).to.deep.equal(['Bia New {"seats":2}'])
    expect(run.facts.contact).to.deep.include({ tags: ['New'], fields: { seats: 2 } })
  })

  it('counts the iterations of a step', () => {
    const run = new TestRun({ steps: [ask('a'), say('b', 'again', { next: 'a' })] })
    run.start()
    run.reply('1')
    run.reply('2')
    const records = run.decisions.flatMap(({ steps }) => steps)
    expect(
      records.filter(({ status }) => status === 'waiting').map(({ index, iteration }) => [index, iteration]),
    ).to.deep.equal([
      [0, 0],
      [2, 1],
      [4, 2],
    ])
  })
})

describe('IDs derived by a run', () => {
  it('sort in the order of their creation across a counter overflow', () => {
    const run = new TestRun({ steps: [say('a', '1'), say('b', '2')] })
    run.run = { ...run.run, idsCount: 4092 }
    const { effects } = run.start()
    const ids = effects.map(({ effect }) => String(effect['messageId']))
    expect(ids).to.deep.equal(ids.toSorted())
  })

  it('are unique UUIDv7 values in ascending order', () => {
    const message = { id: '0199a7a0-0000-7000-8000-000000000002', body: 'hi' }
    const run = new TestRun({ steps: [say('a', '1'), ask('b'), say('c', '3')] }, { message })
    run.start()
    run.reply('x')
    const ids = run.decisions.flatMap(({ effects }) => effects.map(({ effect }) => String(effect['messageId'])))
    expect(ids).to.have.lengthOf(3)
    expect([...ids].sort()).to.deep.equal(ids)
    expect(new Set([...ids, ...run.decisions.flatMap(({ steps }) => steps.map(({ id }) => id)), RUN_ID]).size).to.equal(
      7,
    )
    for (const id of ids) expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('sort after the ID of the answered message when that is in the future', () => {
    const message = { id: '01ffffff-ffff-7fff-8000-000000000002', body: 'hi' }
    const run = new TestRun({ steps: [say('a', '1')] }, { message })
    const { effects } = run.start()
    expect(String(effects[0]?.effect['messageId']) > message.id).to.equal(true)
  })
})
