import { expect } from 'chai'
import type { Facts } from '../../../src/engine/model/step.ts'
import { NOON, TestRun, buildFacts } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

describe('send_message step', () => {
  const closed = buildFacts({ conversation: { windowExpiresAt: NOON } })

  it('is skipped outside the service window with ifWindowClosed skip', () => {
    const run = new TestRun({ steps: [say('a', 'x', { ifWindowClosed: 'skip' })] }, { facts: closed })
    const { steps } = run.start()
    expect(steps[0]).to.include({ status: 'completed', branch: 'window_closed', messageId: null })
    expect([run.sent, run.run.status]).to.deep.equal([[], 'completed'])
  })

  it('fails outside the service window, with an empty or too long body and without a conversation', () => {
    const cases: [object, Facts, string][] = [
      [say('a', 'x'), closed, 'outside_window'],
      [say('a', 'x'), buildFacts({ conversation: { windowExpiresAt: null } }), 'outside_window'],
      [say('a', ' {{contact.email}} '), buildFacts(), 'empty_message'],
      [say('a', 'x'), buildFacts({ conversation: null }), 'no_conversation'],
      [say('a', `{{contact.name}}${'x'.repeat(4096)}`), buildFacts(), 'message_too_long'],
    ]
    for (const [step, facts, code] of cases) {
      const run = new TestRun({ steps: [step] }, { facts })
      run.start()
      expect(run.run.error?.code).to.equal(code)
    }
  })

  it('resolves and truncates the titles of its buttons', () => {
    const buttons = [
      { id: 'a', title: '{{contact.name}}' },
      { id: 'b', title: '{{vars.nothing}}' },
      { id: 'c', title: '{{vars.long}}' },
    ]
    const run = new TestRun({
      variables: { long: { type: 'string', default: 'x'.repeat(99) } },
      steps: [{ id: 's', type: 'send_message', message: { body: '?', buttons } }],
    })
    expect(run.start().effects[0]?.effect['buttons']).to.deep.equal([
      { id: 'a', title: 'Ana' },
      { id: 'b', title: 'b' },
      { id: 'c', title: 'x'.repeat(20) },
    ])
  })
})

describe('steps that change the contact', () => {
  it('add and remove tags case-insensitively and only when something changes', () => {
    const run = new TestRun({
      variables: { more: { type: 'list', default: ['a', ' A ', ''] } },
      steps: [
        { id: 'x', type: 'add_tag', tags: ['Vip', '{{vars.more}}'] },
        { id: 'y', type: 'remove_tag', tags: ['VIP', 'other'] },
        { id: 'z', type: 'remove_tag', tags: ['VIP'] },
      ],
    })
    const { effects } = run.start()
    expect(effects.map(({ effect }) => effect)).to.deep.equal([
      { type: 'add_tag', tags: ['A'] },
      { type: 'remove_tag', tags: ['vip'] },
    ])
    expect(run.facts.contact?.['tags']).to.deep.equal(['A'])
  })

  it('fail with invalid_value when a resolved value is invalid', () => {
    for (const [values, code] of [
      [{ email: '{{contact.name}}' }, 'invalid_value'],
      [{ name: '{{vars.x}}' }, 'invalid_value'],
      [{ timezone: 'Mars' }, 'invalid_value'],
      [{ email: '{{vars.x}}', language: 'pt-BR' }, undefined],
    ] as const) {
      const run = new TestRun({ steps: [{ id: 'u', type: 'update_contact', values }] })
      run.start()
      expect(run.run.error?.code).to.equal(code)
    }
  })
})

describe('handoff step', () => {
  it('pauses automation and ends the run', () => {
    const run = new TestRun({ steps: [{ id: 'h', type: 'handoff', reason: 'for {{contact.name}}' }, say('b', 'x')] })
    const { effects } = run.start()
    expect(effects.map(({ effect }) => effect)).to.deep.equal([{ type: 'handoff', reason: 'for Ana', until: null }])
    expect(run.run.status).to.equal('completed')
  })

  it('continues with the next step when disabled', () => {
    const run = new TestRun({ steps: [{ id: 'h', type: 'handoff', disabled: true }, say('b', 'x')] })
    run.start()
    expect(run.sent).to.deep.equal(['x'])
  })

  it('resumes automation and continues after resumeAfter', () => {
    const run = new TestRun({ steps: [{ id: 'h', type: 'handoff', resumeAfter: '30m' }, say('b', 'back')] })
    const { effects, wait } = run.start()
    expect(effects[0]?.effect['until']).to.equal('2026-03-02T12:30:00.000Z')
    expect(wait?.for).to.equal('timer')
    const { effects: later } = run.fireTimer()
    expect(later.map(({ effect }) => effect.type)).to.deep.equal(['resume_automation', 'send_message'])
  })
})

describe('branch step', () => {
  const cases = [
    { name: 'big', if: { left: '{{vars.n}}', op: 'gte', right: 10 }, next: 'big' },
    { if: { left: '{{vars.n}}', op: 'gte', right: 5 }, next: 'middle' },
  ]
  for (const [n, branch, sent] of [
    [12, 'big', 'big'],
    [7, 'case 2', 'middle'],
    [1, 'else', 'small'],
  ] as const) {
    it(`chooses the branch "${branch}" for the value ${n}`, () => {
      const steps = [
        { id: 'x', type: 'branch', cases },
        say('small', 'small', { next: 'end' }),
        say('big', 'big', { next: 'end' }),
        say('middle', 'middle'),
      ]
      const run = new TestRun({ variables: { n: { type: 'number', default: n } }, steps })
      const { steps: records } = run.start()
      expect(records[0]?.branch).to.equal(branch)
      expect(run.sent).to.deep.equal([sent])
    })
  }
})

describe('set step', () => {
  it('reads all variables before it changes any', () => {
    const run = new TestRun({
      variables: { a: { type: 'number', default: 1 } },
      steps: [
        {
          id: 's',
          type: 'set',
          values: { a: '{{vars.a | plus: 1}}', 'vars.b': '{{vars.a}}', c: { list: ['{{vars.a}}'] } },
        },
      ],
    })
    run.start()
    expect(run.run.variables).to.deep.equal({ a: 2, b: 1, c: { list: [1] } })
  })

  it('converts values to the declared types and fails with type_mismatch otherwise', () => {
    const types = { n: 'number', b: 'boolean', s: 'string', d: 'date', l: 'list', o: 'object' }
    const variables = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]))
    const values = { n: '12.5', b: 'TRUE', s: 7, d: '2026-03-31', l: [1], o: { a: 1 } }
    const run = new TestRun({ variables, steps: [{ id: 's', type: 'set', values: values }] })
    run.start()
    expect(run.run.variables).to.deep.equal({ ...values, n: 12.5, b: true, s: '7' })
    for (const bad of [{ n: 'x' }, { b: 'maybe' }, { s: {} }, { d: 'soon' }, { l: {} }, { o: [] }]) {
      const failing = new TestRun({ variables, steps: [{ id: 's', type: 'set', values: bad }] })
      failing.start()
      expect(failing.run.error?.code, JSON.stringify(bad)).to.equal('type_mismatch')
    }
  })

  it('fails with value_too_large when a variable grows beyond the limit', () => {
    const steps = [
      { id: 'w', type: 'wait', for: '1m' },
      { id: 's', type: 'set', values: { a: { x: '{{vars.a}}', y: '{{vars.a}}' } }, next: 'w' },
    ]
    const run = new TestRun({ variables: { a: { type: 'object', default: { z: 'x'.repeat(1000) } } }, steps })
    run.start()
    while (run.run.status === 'waiting') run.fireTimer()
    expect(run.run.error?.code).to.equal('value_too_large')
  })
})
