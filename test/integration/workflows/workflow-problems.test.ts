import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

type Problem = { code: string; path: string; stepId: string | null; message: string }

describe('the problems of a definition', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  async function call(path: string, body: unknown) {
    return app.rest('POST', `/api${path}`, { session: owner, body })
  }

  async function publish(definition: object) {
    const whole = { version: 1, triggers: [{ type: 'message_received' }], ...definition }
    const { body } = await call('/workflows', { name: 'W', definition: whole })
    return call(`/workflows/${body.id}/publish`, {})
  }

  const brief = (problems: Problem[]) => problems.map(({ code, path }) => `${code} ${path}`)
  const end = { id: 'z', type: 'stop' }

  it('are told at once, one for each step that has one', async () => {
    const { status, body } = await publish({
      steps: [
        { id: 'a', type: 'send_message', message: { body: 'x' }, next: 'nowhere' },
        {
          id: 'b',
          type: 'ask',
          message: { body: '?', buttons: ['p', 'q', 'r', 's'].map((id) => ({ id, title: id })) },
        },
        { id: 'c', type: 'http', url: 'http://10.0.0.1/x' },
        { id: 'd', type: 'send_message', message: { body: '{{customer.name}}' } },
        { id: 'e', type: 'send_message', message: { location: { latitude: 1, longitude: 2 } } },
        { id: 'f', type: 'send_message', message: { media: { type: 'image', mediaId: 'm1' } } },
        { id: 'g', type: 'ask', message: { body: '?' }, expect: { type: 'text', pattern: 'x'.repeat(1001) } },
        { id: 'h', type: 'goto', to: 'b' },
      ],
    })
    expect(status).to.equal(422)
    const told = (body.details as Problem[]).map(({ stepId, code }) => `${stepId} ${code}`)
    expect(told).to.have.members([
      'a unknown_target',
      'b too_many_buttons',
      'c private_host',
      'd unknown_root',
      'e not_supported',
      'f not_supported',
      'g invalid_pattern',
    ])
  })

  it('are one for each place, however much is wrong with it', async () => {
    const match = { mode: 'regex', values: ['('.repeat(1001)] }
    const { body } = await call('/workflows/validate', {
      definition: { version: 1, triggers: [{ type: 'message_received', match }], steps: [end] },
    })
    expect((body.errors as Problem[]).map(({ path }) => path)).to.deep.equal(['triggers.0.match.values.0'])
  })

  it('are names that would be lost', async () => {
    const values: unknown = JSON.parse('{"a":1,"__proto__":2}')
    const variables: unknown = JSON.parse('{"__proto__":{"type":"string"}}')
    const { status, body } = await publish({ variables, steps: [{ id: 's', type: 'set', values }] })
    expect(status).to.equal(422)
    const lost = ['unknown_field variables.__proto__', 'unknown_field steps.0.values.__proto__']
    expect(brief(body.details)).to.deep.equal(lost)
  })

  it('are more placeholders than can be read while everybody waits', async () => {
    const body = '{{contact.name}}'.repeat(100)
    const steps = (length: number) =>
      Array.from({ length }, (_, index) => ({ id: `s${index}`, type: 'add_note', body }))
    const refused = await publish({ steps: steps(51) })
    expect(refused.status).to.equal(422)
    expect(brief(refused.body.details)).to.deep.equal(['too_many_placeholders steps'])
    expect((await publish({ steps: steps(50) })).status).to.equal(200)
  })

  it('are buttons under what is said to a wrong reply', async () => {
    const invalidMessage = { body: 'No', buttons: [{ id: 'a', title: 'A' }] }
    const ask = { id: 'a', type: 'ask', message: { body: '?' }, expect: { type: 'number' }, invalidMessage }
    const { status, body } = await publish({ steps: [ask] })
    expect(status).to.equal(422)
    expect(brief(body.details)).to.deep.equal(['not_supported steps.0.invalidMessage.buttons'])
  })

  describe('are circles without a wait', () => {
    const back = { id: 'b', type: 'goto', to: 'a' }
    const circles: [name: string, step: object, problems: string[], isRefused: boolean][] = [
      [
        'where the wait is for a moment that is past the second time',
        { until: '2026-03-31T09:00' },
        ['infinite_loop'],
        true,
      ],
      [
        'perhaps, where the wait may be passed over',
        { for: '1h', if: { left: '{{contact.name}}', op: 'exists' } },
        ['possible_infinite_loop'],
        false,
      ],
      ['but not where it is for a moment that may change', { until: '{{vars.when}}' }, [], false],
      ['but not where every round waits', { for: '1h' }, [], false],
    ]
    for (const [name, step, problems, isRefused] of circles) {
      it(name, async () => {
        const steps = [{ id: 'a', type: 'wait', ...step }, back]
        const { status, body } = await publish({ variables: { when: { type: 'date' } }, steps })
        expect(status, JSON.stringify(body)).to.equal(isRefused ? 422 : 200)
        expect(brief(isRefused ? body.details : body.warnings)).to.deep.equal(problems.map((code) => `${code} steps.0`))
      })
    }
  })

  it('are waits and loops that could never work', async () => {
    const { status, body } = await publish({
      steps: [
        { id: 'w', type: 'wait', until: 'tomorrow' },
        { id: 'l', type: 'loop', over: 'vars.list', max: 2, steps: [{ id: 'n', type: 'add_note', body: 'x' }] },
      ],
    })
    expect(status).to.equal(422)
    expect(brief(body.details)).to.deep.equal(['invalid_date steps.0.until', 'invalid steps.1.over'])
  })

  describe('warn of what is said in vain', () => {
    const asking = (rest: object) => [{ id: 'a', type: 'ask', message: { body: '?' }, ...rest }]
    const choice = (id: string) => ({ id, title: id })
    const vain: [name: string, definition: object, paths: string[]][] = [
      [
        'words that any message makes needless',
        { triggers: [{ type: 'message_received', match: { mode: 'any', values: ['x'] } }], steps: [end] },
        ['triggers.0.match.values'],
      ],
      [
        'a pause for messages that start nothing',
        { triggers: [{ type: 'api' }], settings: { debounce: '2s' }, steps: [end] },
        ['settings.debounce'],
      ],
      [
        'where to go after a timeout that never comes',
        { steps: [{ id: 'a', type: 'wait_for_reply', onTimeout: 'z' }, end] },
        ['steps.0.onTimeout'],
      ],
      [
        'a timeout of what takes no time',
        { steps: [{ id: 'a', type: 'add_note', body: 'x', timeout: '1m' }] },
        ['steps.0.timeout'],
      ],
      [
        'a timeout of a wait',
        { steps: [{ id: 'a', type: 'wait', for: '1h', timeout: '1m', onTimeout: 'end' }] },
        ['steps.0.timeout', 'steps.0.onTimeout'],
      ],
      ['a way that is never taken', { steps: [{ id: 'a', type: 'goto', to: 'z', next: 'z' }, end] }, ['steps.0.next']],
      ['what nothing can read', { steps: [{ ...end, saveAs: 'vars.a' }] }, ['steps.0.saveAs']],
      ['the least of an address', { steps: asking({ expect: { type: 'email', min: 3 } }) }, ['steps.0.expect.min']],
      [
        'a second try of anything',
        { steps: asking({ attempts: 3, onInvalid: 'end' }) },
        ['steps.0.attempts', 'steps.0.onInvalid'],
      ],
      [
        'buttons that other options take the place of',
        {
          steps: asking({
            message: { body: '?', buttons: [choice('p')] },
            expect: { type: 'choice', options: [choice('q')] },
          }),
        },
        ['steps.0.message.buttons'],
      ],
    ]
    for (const [name, definition, paths] of vain) {
      it(name, async () => {
        const { status, body } = await publish(definition)
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(brief(body.warnings)).to.deep.equal(paths.map((path) => `ineffective_field ${path}`))
      })
    }

    const branch = (condition: object) => [{ id: 'a', type: 'branch', cases: [{ if: condition, next: 'end' }] }]

    it('and of conditions that always come to the same', async () => {
      const conditions: [condition: object, problem: string][] = [
        [{ left: 'vars.city', op: 'eq', right: 'Rio' }, 'literal_instead_of_placeholder steps.0.cases.0.if.left'],
        [
          { any: [{ left: 'contact.name', op: 'exists' }] },
          'literal_instead_of_placeholder steps.0.cases.0.if.any.0.left',
        ],
        [{ left: '{{contact}}', op: 'has_tag', right: ['a'] }, 'not_comparable steps.0.cases.0.if.right'],
        [{ not: { left: '{{now}}', op: 'matches', right: 5 } }, 'not_comparable steps.0.cases.0.if.not.right'],
      ]
      for (const [condition, problem] of conditions) {
        const { status, body } = await publish({ steps: branch(condition) })
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(brief(body.warnings)).to.deep.equal([problem])
      }
      const { body } = await publish({ steps: branch({ left: '{{contact.name}}', op: 'in', right: ['vars', 'x'] }) })
      expect(body.warnings).to.deep.equal([])
    })

    it('but not of what has its use elsewhere', async () => {
      const { body } = await publish({
        settings: { debounce: '2s' },
        steps: [
          { id: 'a', type: 'goto', to: 'z', next: 'b', if: { left: '{{contact.name}}', op: 'exists' } },
          ...asking({ expect: { type: 'text', pattern: '^x', min: 1 }, attempts: 2, timeout: '1h', onTimeout: 'z' }),
          end,
        ].map((step, index) => (index === 1 ? { ...step, id: 'b' } : step)),
      })
      expect(body.warnings).to.deep.equal([])
    })

    it('and of a moment that has passed', async () => {
      const at = (offset: number) => new Date(app.clock.now().getTime() + offset).toISOString()
      const triggers = [-1000, 60_000].map((offset) => ({ type: 'schedule', at: at(offset) }))
      const { body } = await publish({ triggers, steps: [end] })
      expect(brief(body.warnings)).to.deep.equal(['past_schedule triggers.0.at'])
    })
  })
})
