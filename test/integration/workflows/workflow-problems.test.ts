import { expect } from 'chai'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Problem = { code: string; path: string; stepId: string | null; message: string }

describe('problems of a definition at publish', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  async function publish(definition: object) {
    const { id } = await buildWorkflow(workspace, definition, { publish: false })
    return workspace.request('POST', `/api/workflows/${id}/publish`, {})
  }

  const summarize = (problems: Problem[]) => problems.map(({ code, path }) => `${code} ${path}`)
  const end = { id: 'z', type: 'stop' }

  it('are reported at once, one per faulty step', async () => {
    const { status, body } = await publish({
      steps: [
        { id: 'a', type: 'send_message', message: { body: 'x' }, next: 'nowhere' },
        {
          id: 'b',
          type: 'ask',
          message: { body: '?', buttons: [...'abcdefghijk'].map((id) => ({ id, title: id })) },
        },
        { id: 'c', type: 'http', url: 'http://10.0.0.1/x' },
        { id: 'd', type: 'send_message', message: { body: '{{customer.name}}' } },
        { id: 'e', type: 'send_message', message: { body: 'x', footer: 'y' } },
        { id: 'f', type: 'send_message', message: { media: { type: 'image', mediaId: 'm1' } } },
        { id: 'g', type: 'ask', message: { body: '?' }, expect: { type: 'text', pattern: 'x'.repeat(1001) } },
        { id: 'h', type: 'goto', to: 'b' },
      ],
    })
    expect(status).to.equal(422)
    const problems = (body.details as Problem[]).map(({ stepId, code }) => `${stepId} ${code}`)
    expect(problems).to.have.members([
      'a unknown_target',
      'b too_many_buttons',
      'c host_refused',
      'd unknown_root',
      'e not_supported',
      'f unknown_media',
      'g invalid_pattern',
    ])
  })

  it('are reported in one call: the warnings of valid parts beside the errors of others', async () => {
    const keyword = { type: 'message_received', match: { mode: 'exact', values: ['stop'] } }
    const past = { type: 'schedule', at: new Date(app.clock.now().getTime() - 1000).toISOString() }
    const definition = {
      version: 1,
      triggers: [{ type: 'message_received', keywords: ['x'] }, keyword, past],
      settings: { reentri: 'queue' },
      steps: [
        { id: 'a', type: 'add_note', body: '{{contact.nam}}', timeout: '1m' },
        { id: 'b', type: 'ai', instructions: 'x', nxt: 'c' },
        {
          id: 'c',
          type: 'assign',
          to: { userId: '0199c0de-ffff-7000-8000-000000000000' },
          if: { left: 'vars.x', op: 'exists' },
        },
      ],
    }
    const { valid, errors, warnings } = await workspace.call('POST', '/api/workflows/validate', { definition })
    expect(valid).to.equal(false)
    expect(summarize(errors)).to.deep.equal([
      'unknown_field settings.reentri',
      'unknown_field triggers.0.keywords',
      'unknown_field steps.1.nxt',
    ])
    expect(summarize(warnings)).to.deep.equal([
      'unknown_field steps.0.body',
      'unknown_member steps.2.to.userId',
      'ineffective_field steps.0.timeout',
      'literal_instead_of_placeholder steps.2.if.left',
      'no_contact steps.0',
      'no_ai_provider steps.1.type',
      'consent_keyword triggers.1.match.values.0',
    ])
    const { status, body } = await publish({ triggers: definition.triggers, steps: definition.steps })
    expect([status, body.details[0].message]).to.deep.equal([
      422,
      'Trigger 1: keywords is an unknown field. Fields of message_received: channelId, match, first, if, priority',
    ])
  })

  it('include unknown fields of placeholders as warnings, with the nearest name', async () => {
    const { status, body } = await publish({
      steps: [{ id: 'a', type: 'send_message', message: { body: 'Hi {{contact.nam}}!' } }],
    })
    expect(status).to.equal(200)
    expect(body.warnings).to.deep.equal([
      {
        stepId: 'a',
        code: 'unknown_field',
        path: 'steps.0.message.body',
        message:
          'Step "a": message.body reads {{contact.nam}}: contact has no field nam. Did you mean name? Fields of contact here: id, name, phone, email, language, country, timezone, tags, groupIds, fields, consent, blocked',
      },
    ])
  })

  it('are reported once per path', async () => {
    const match = { mode: 'regex', values: ['('.repeat(1001)] }
    const { errors } = await workspace.call('POST', '/api/workflows/validate', {
      definition: { version: 1, triggers: [{ type: 'message_received', match }], steps: [end] },
    })
    expect((errors as Problem[]).map(({ path }) => path)).to.deep.equal(['triggers.0.match.values.0'])
  })

  it('include the reserved name __proto__ as unknown_field', async () => {
    const values: unknown = JSON.parse('{"a":1,"__proto__":2}')
    const variables: unknown = JSON.parse('{"__proto__":{"type":"string"}}')
    const { status, body } = await publish({ variables, steps: [{ id: 's', type: 'set', values }] })
    expect(status).to.equal(422)
    expect(summarize(body.details)).to.deep.equal([
      'unknown_field variables.__proto__',
      'unknown_field steps.0.values.__proto__',
    ])
  })

  it('include too_many_placeholders above 5,000 placeholders', async () => {
    const body = '{{contact.name}}'.repeat(100)
    const steps = (length: number) =>
      Array.from({ length }, (_, index) => ({ id: `s${index}`, type: 'add_note', body }))
    const rejected = await publish({ steps: steps(51) })
    expect(rejected.status).to.equal(422)
    expect(summarize(rejected.body.details)).to.deep.equal(['too_many_placeholders steps'])
    expect((await publish({ steps: steps(50) })).status).to.equal(200)
  })

  it('include not_supported for buttons in invalidMessage', async () => {
    const invalidMessage = { body: 'No', buttons: [{ id: 'a', title: 'A' }] }
    const ask = { id: 'a', type: 'ask', message: { body: '?' }, expect: { type: 'number' }, invalidMessage }
    const { status, body } = await publish({ steps: [ask] })
    expect(status).to.equal(422)
    expect(summarize(body.details)).to.deep.equal(['not_supported steps.0.invalidMessage.buttons'])
  })

  describe('with a cycle of steps', () => {
    const back = { id: 'b', type: 'goto', to: 'a' }
    const cases: [title: string, step: object, problems: string[], isRejected: boolean][] = [
      [
        'include infinite_loop when its wait ends at a fixed time',
        { until: '2026-03-31T09:00' },
        ['infinite_loop'],
        true,
      ],
      [
        'include the warning possible_infinite_loop when its wait has a condition',
        { for: '1h', if: { left: '{{contact.name}}', op: 'exists' } },
        ['possible_infinite_loop'],
        false,
      ],
      ['include none when its wait ends at a variable time', { until: '{{vars.when}}' }, [], false],
      ['include none when its wait has a duration', { for: '1h' }, [], false],
    ]
    for (const [title, step, problems, isRejected] of cases) {
      it(title, async () => {
        const steps = [{ id: 'a', type: 'wait', ...step }, back]
        const { status, body } = await publish({ variables: { when: { type: 'date' } }, steps })
        expect(status, JSON.stringify(body)).to.equal(isRejected ? 422 : 200)
        expect(summarize(isRejected ? body.details : body.warnings)).to.deep.equal(
          problems.map((code) => `${code} steps.0`),
        )
      })
    }
  })

  it('include waits with an invalid date and loops over a text without a placeholder', async () => {
    const { status, body } = await publish({
      steps: [
        { id: 'w', type: 'wait', until: 'tomorrow' },
        { id: 'l', type: 'loop', over: 'vars.list', max: 2, steps: [{ id: 'n', type: 'add_note', body: 'x' }] },
      ],
    })
    expect(status).to.equal(422)
    expect(summarize(body.details)).to.deep.equal(['invalid_date steps.0.until', 'invalid steps.1.over'])
  })

  describe('as warnings', () => {
    const ask = (rest: object) => [{ id: 'a', type: 'ask', message: { body: '?' }, ...rest }]
    const choice = (id: string) => ({ id, title: id })
    const cases: [name: string, definition: object, paths: string[]][] = [
      [
        'match values with mode any',
        { triggers: [{ type: 'message_received', match: { mode: 'any', values: ['x'] } }], steps: [end] },
        ['triggers.0.match.values'],
      ],
      [
        'a debounce setting without a message trigger',
        { triggers: [{ type: 'api' }], settings: { debounce: '2s' }, steps: [end] },
        ['settings.debounce'],
      ],
      [
        'an onTimeout without a timeout',
        { steps: [{ id: 'a', type: 'wait_for_reply', onTimeout: 'z' }, end] },
        ['steps.0.onTimeout'],
      ],
      [
        'a timeout of a step that does not wait',
        { steps: [{ id: 'a', type: 'add_note', body: 'x', timeout: '1m' }] },
        ['steps.0.timeout'],
      ],
      [
        'a timeout of a wait step',
        { steps: [{ id: 'a', type: 'wait', for: '1h', timeout: '1m', onTimeout: 'end' }] },
        ['steps.0.timeout', 'steps.0.onTimeout'],
      ],
      [
        'a next field of an unconditional goto',
        { steps: [{ id: 'a', type: 'goto', to: 'z', next: 'z' }, end] },
        ['steps.0.next'],
      ],
      ['a saveAs of a step without output', { steps: [{ ...end, saveAs: 'vars.a' }] }, ['steps.0.saveAs']],
      ['a minimum of an e-mail address', { steps: ask({ expect: { type: 'email', min: 3 } }) }, ['steps.0.expect.min']],
      [
        'attempts without an expected type',
        { steps: ask({ attempts: 3, onInvalid: 'end' }) },
        ['steps.0.attempts', 'steps.0.onInvalid'],
      ],
      [
        'buttons that expected options replace',
        {
          steps: ask({
            message: { body: '?', buttons: [choice('p')] },
            expect: { type: 'choice', options: [choice('q')] },
          }),
        },
        ['steps.0.message.buttons'],
      ],
    ]
    for (const [name, definition, paths] of cases) {
      it(`include ineffective_field for ${name}`, async () => {
        const { status, body } = await publish(definition)
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(summarize(body.warnings)).to.deep.equal(paths.map((path) => `ineffective_field ${path}`))
      })
    }

    const branch = (condition: object) => [{ id: 'a', type: 'branch', cases: [{ if: condition, next: 'end' }] }]

    it('include conditions with a constant result', async () => {
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
        expect(summarize(body.warnings)).to.deep.equal([problem])
      }
      const { body } = await publish({ steps: branch({ left: '{{contact.name}}', op: 'in', right: ['vars', 'x'] }) })
      expect(body.warnings).to.deep.equal([])
    })

    it('do not include fields that have an effect', async () => {
      const { body } = await publish({
        settings: { debounce: '2s' },
        steps: [
          { id: 'a', type: 'goto', to: 'z', next: 'b', if: { left: '{{contact.name}}', op: 'exists' } },
          ...ask({ expect: { type: 'text', pattern: '^x', min: 1 }, attempts: 2, timeout: '1h', onTimeout: 'z' }),
          { id: 't', type: 'throttle', max: 1, per: '1m', timeout: '10s', onTimeout: 'z' },
          end,
        ].map((step, index) => (index === 1 ? { ...step, id: 'b' } : step)),
      })
      expect(body.warnings).to.deep.equal([])
    })

    it('do not include a time beyond those of the database, which is refused', async () => {
      const triggers = [{ type: 'schedule', at: '9999-12-31T23:00:00-05:00' }]
      const { status, body } = await publish({ triggers, steps: [end] })
      expect(status).to.equal(422)
      expect(summarize(body.details).join()).to.match(/triggers\.0\.at$/)
    })

    it('include a schedule in the past', async () => {
      const at = (offset: number) => new Date(app.clock.now().getTime() + offset).toISOString()
      const triggers = [-1000, 60_000].map((offset) => ({ type: 'schedule', at: at(offset) }))
      const { body } = await publish({ triggers, steps: [end] })
      expect(summarize(body.warnings)).to.deep.equal(['past_schedule triggers.0.at'])
    })
  })
})
