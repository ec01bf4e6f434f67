import { expect } from 'chai'
import type { Facts } from '../../../src/engine/model/step.ts'
import { TestRun, buildFacts } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

function startAsk(expectation: object, rest: object = {}, facts: Partial<Facts> = {}): TestRun {
  const step = {
    id: 'q',
    type: 'ask',
    message: { body: '?' },
    expect: expectation,
    saveAs: 'vars.a',
    attempts: 1,
    ...rest,
  }
  const run = new TestRun({ steps: [step] }, { facts: buildFacts(facts) })
  run.start()
  return run
}

const options = [
  { id: 'sp', title: 'São Paulo' },
  { id: 'rj', title: 'Rio' },
]

describe('reply to an ask step', () => {
  const cases: [expectation: object, body: string, value: unknown][] = [
    [{ type: 'any' }, '', ''],
    [{ type: 'text' }, '  hello ', 'hello'],
    [{ type: 'text' }, ' ', undefined],
    [{ type: 'text', min: 3 }, 'ab', undefined],
    [{ type: 'text', max: 3 }, 'äöü', 'äöü'],
    [{ type: 'text', pattern: '^[A-Z]{2}\\d$' }, 'AB1', 'AB1'],
    [{ type: 'text', pattern: '^[A-Z]{2}\\d$' }, 'ab1', undefined],
    [{ type: 'number' }, ' 12 ', 12],
    [{ type: 'number' }, '-12,5', -12.5],
    [{ type: 'number' }, '1 000', 1000],
    [{ type: 'number' }, '1,000', undefined],
    [{ type: 'number' }, 'twelve', undefined],
    [{ type: 'number', min: 1, max: 10 }, '11', undefined],
    [{ type: 'number', min: 1, max: 10 }, '10', 10],
    [{ type: 'email' }, ' ana@example.com', 'ana@example.com'],
    [{ type: 'email' }, 'ana@', undefined],
    [{ type: 'phone' }, '+55 (11) 99999-0000', '+5511999990000'],
    [{ type: 'phone' }, '99999-0000', undefined],
    [{ type: 'url' }, 'example.com/a?b=c', 'https://example.com/a?b=c'],
    [{ type: 'url' }, 'http://example.com', 'http://example.com/'],
    [{ type: 'url' }, 'javascript:alert(1)', undefined],
    [{ type: 'url' }, 'no idea', undefined],
    [{ type: 'date' }, '31/3/2026', '2026-03-31'],
    [{ type: 'date' }, '3.4.2026', '2026-04-03'],
    [{ type: 'date' }, '2026-03-31', '2026-03-31'],
    [{ type: 'date' }, '31/2/2026', undefined],
    [{ type: 'date' }, 'soon', undefined],
    [{ type: 'choice', options }, 'sao paulo', undefined],
    [{ type: 'choice', options }, 'SÃO PAULO', 'sp'],
    [{ type: 'choice', options }, 'rj', 'rj'],
    [{ type: 'choice', options }, '2', 'rj'],
    [{ type: 'choice', options }, '1.', 'sp'],
    [{ type: 'choice', options }, '3', undefined],
    [{ type: 'choice', options }, '0', undefined],
  ]
  for (const [expectation, body, value] of cases) {
    it(`"${body}" is ${value === undefined ? 'rejected' : `saved as ${JSON.stringify(value)}`} with expect ${JSON.stringify(expectation)}`, () => {
      const run = startAsk(expectation)
      run.reply(body)
      expect(run.run.variables['a']).to.equal(value)
      expect(run.run.status).to.equal(value === undefined ? 'failed' : 'completed')
    })
  }

  it('is parsed as a date with the month first for a contact in the US', () => {
    const run = startAsk({ type: 'date' }, {}, { contact: { country: 'US' } })
    run.reply('3/31/2026')
    expect(run.run.variables['a']).to.equal('2026-03-31')
  })

  it('selects a button by press, title or number and continues at its target', () => {
    for (const [body, rest] of [
      ['anything', { content: { buttonId: 'rj' } }],
      ['rio', {}],
      ['2', {}],
    ] as const) {
      const buttons = [options[0], { ...options[1], next: 'r' }]
      const steps = [
        { id: 'q', type: 'ask', message: { body: '?', buttons }, saveAs: 'vars.a' },
        say('s', 'on', { next: 'end' }),
        say('r', 'Rio!'),
      ]
      const run = new TestRun({ steps })
      expect(run.start().effects[0]?.effect['buttons']).to.deep.equal(options)
      const { steps: records } = run.reply(body, rest)
      expect(records[0]).to.include({ branch: 'rj' })
      expect(run.run.variables['a']).to.equal('Rio')
      expect(run.sent).to.deep.equal(['?', 'Rio!'])
    }
  })
})

describe('ask step', () => {
  const invalidMessage = { body: 'A number, please' }

  it('repeats invalidMessage up to its number of attempts and then fails', () => {
    const run = startAsk({ type: 'number' }, { attempts: 3, invalidMessage })
    run.reply('a')
    run.reply('b')
    expect(run.run.status).to.equal('waiting')
    run.reply('c')
    expect(run.sent).to.deep.equal(['?', 'A number, please', 'A number, please'])
    expect(run.run.error?.code).to.equal('no_valid_answer')
    expect(run.run.stepsCount).to.equal(1)
  })

  it('repeats its message without invalidMessage and accepts a later valid reply', () => {
    const run = startAsk({ type: 'number' }, { attempts: 2 })
    run.reply('a')
    run.reply('7')
    expect(run.sent).to.deep.equal(['?', '?'])
    expect(run.run.variables['a']).to.equal(7)
  })

  it('continues at the onInvalid step after its last attempt', () => {
    const step = {
      id: 'q',
      type: 'ask',
      message: { body: '?' },
      expect: { type: 'number' },
      attempts: 1,
      onInvalid: 'c',
    }
    const run = new TestRun({ steps: [step, say('b', 'thanks', { next: 'end' }), say('c', 'never mind')] })
    run.start()
    run.reply('x')
    expect(run.sent).to.deep.equal(['?', 'never mind'])
  })
})

describe('wait_for_reply step', () => {
  it('consumes any reply, or only a valid one with expect', () => {
    const run = new TestRun({
      steps: [
        { id: 'w', type: 'wait_for_reply', saveAs: 'vars.a' },
        { id: 'x', type: 'wait_for_reply', expect: { type: 'number' }, saveAs: 'vars.b' },
      ],
    })
    run.start()
    run.reply('hello')
    expect(run.reply('not a number').isConsumed).to.equal(false)
    expect(run.run.status).to.equal('waiting')
    expect(run.run.message?.body).to.equal('hello')
    run.reply('7')
    expect(run.run.variables).to.deep.equal({ a: 'hello', b: 7 })
  })
})
