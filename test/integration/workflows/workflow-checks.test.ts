import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const ABSENT = '0199c0de-ffff-7000-8000-000000000000'

type Problem = { code: string; path: string; stepId: string | null; message: string }

describe('what publishing says of a definition', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  async function call(method: string, path: string, body?: unknown) {
    return app.rest(method, `/api${path}`, { session: owner, ...(body === undefined ? {} : { body }) })
  }

  async function make(path: string, body: unknown): Promise<string> {
    const answer = await call('POST', path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    return answer.body.id
  }

  async function validate(definition: object, workflowId?: string) {
    const whole = { version: 1, triggers: [{ type: 'contact_created' }], steps: [], ...definition }
    const { status, body } = await call('POST', '/workflows/validate', { definition: whole, workflowId })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body as { valid: boolean; errors: Problem[]; warnings: Problem[] }
  }

  const brief = (problems: Problem[]) => problems.map(({ code, path }) => `${code} ${path}`)
  const errorsOf = async (definition: object) => brief((await validate(definition)).errors)
  const warningsOf = async (definition: object) => {
    const { valid, errors, warnings } = await validate(definition)
    expect(valid, JSON.stringify(errors)).to.equal(true)
    return brief(warnings)
  }

  const say = (id: string, rest: object = {}) => ({ id, type: 'send_message', message: { body: 'x' }, ...rest })

  describe('refuses what is of the language and not supported', () => {
    const refused: [name: string, definition: object, path: string][] = [
      ['a trigger', { triggers: [{ type: 'message_status', status: 'read' }] }, 'triggers.0.type'],
      ['a step', { steps: [{ id: 'a', type: 'throttle', max: 1, per: '1h' }] }, 'steps.0.type'],
      ['what it expects of its input', { inputs: { type: 'object' } }, 'inputs'],
      ['quiet hours', { settings: { quietHours: { from: '22:00', to: '08:00' } } }, 'settings.quietHours'],
      ['what to do when it fails', { settings: { onFailure: { notify: [] } } }, 'settings.onFailure'],
      [
        'a list to choose from',
        { steps: [say('a', { message: { body: 'x', list: { button: 'b', options: [] } } })] },
        'steps.0.message.list',
      ],
      ['a place', { steps: [say('a', { message: { location: {} } })] }, 'steps.0.message.location'],
      [
        'a template in place of what comes too late',
        { steps: [say('a', { ifWindowClosed: { template: { name: 't' } } })] },
        'steps.0.ifWindowClosed',
      ],
      [
        'an answer of media',
        { steps: [{ id: 'a', type: 'ask', message: { body: 'x' }, expect: { type: 'media' } }] },
        'steps.0.expect.type',
      ],
    ]
    for (const [name, definition, path] of refused) {
      it(`${name}, with a sentence that says what to use instead`, async () => {
        const { errors } = await validate(definition)
        expect(errors.filter(({ code }) => code === 'not_supported').map((error) => error.path)).to.deep.equal([path])
        expect(errors.every(({ path: at }) => at === path || at === 'steps.0.message.body')).to.equal(true)
        expect(errors.find((error) => error.path === path)?.message).to.match(/not supported yet: \w+/)
      })
    }

    it('and calls a typing mistake a mistake', async () => {
      const definition = {
        triggers: [{ type: 'mesage_received' }],
        settings: { quietHour: {} },
        steps: [{ id: 'a', type: 'send_templat' }],
      }
      expect(await errorsOf(definition)).to.have.members([
        'unknown_field settings.quietHour',
        'unknown_trigger_type triggers.0.type',
        'unknown_step_type steps.0.type',
      ])
    })
  })

  it('refuses what names something that this workspace does not have', async () => {
    const stranger = await app.signUp('Stranger')
    const theirs = await app.rest('POST', '/api/groups', { session: stranger, body: { name: 'G' } })
    const { errors } = await validate({
      triggers: [{ type: 'message_received', channelId: ABSENT }],
      steps: [
        { id: 'a', type: 'add_to_group', groupId: theirs.body.id },
        { id: 'b', type: 'remove_from_group', groupId: ABSENT },
        { id: 'c', type: 'tool', tool: 'no_such_tool' },
        { id: 'd', type: 'ai', instructions: 'x', tools: ['time.now', 'nor_this'] },
        { id: 'e', type: 'run_workflow', workflowId: ABSENT },
      ],
    })
    const named = errors.filter(({ code }) => code.startsWith('unknown_') && code !== 'unknown_step_type')
    expect(named.map(({ code, path, stepId }) => [code, path, stepId])).to.deep.equal([
      ['unknown_channel', 'triggers.0.channelId', null],
      ['unknown_group', 'steps.0.groupId', 'a'],
      ['unknown_group', 'steps.1.groupId', 'b'],
      ['unknown_tool', 'steps.2.tool', 'c'],
      ['unknown_tool', 'steps.3.tools.1', 'd'],
      ['unknown_workflow', 'steps.4.workflowId', 'e'],
    ])
  })

  it('accepts what names something that is there, and publishes it', async () => {
    const groupId = await make('/groups', { name: 'Here' })
    const { body: channels } = await call('GET', '/channels')
    const definition = {
      version: 1,
      triggers: [
        { type: 'message_received', channelId: channels.items[0].id, match: { mode: 'exact', values: ['g'] } },
      ],
      steps: [
        { id: 'a', type: 'add_to_group', groupId: groupId.toUpperCase() },
        { id: 'b', type: 'assign', to: { userId: owner.userId } },
        { id: 'c', type: 'handoff', assign: { userId: '{{contact.fields.agent}}' } },
      ],
    }
    expect(await warningsOf(definition)).to.deep.equal([])
    const id = await make('/workflows', { name: 'W', definition })
    expect((await call('POST', `/workflows/${id}/publish`, {})).status).to.equal(200)
    await call('DELETE', `/groups/${groupId}`)
    await call('PATCH', `/workflows/${id}`, { definition: { ...definition, variables: {} } })
    const gone = await call('POST', `/workflows/${id}/publish`, {})
    expect([gone.status, gone.body.code, gone.body.details[0].code]).to.deep.equal([
      422,
      'workflow_invalid',
      'unknown_group',
    ])
  })

  it('warns of who is no member, and may become one', async () => {
    const steps = [
      { id: 'a', type: 'assign', to: { userId: ABSENT } },
      { id: 'b', type: 'handoff', assign: { userId: ABSENT } },
    ]
    expect(await warningsOf({ steps })).to.deep.equal([
      'unknown_member steps.0.to.userId',
      'unknown_member steps.1.assign.userId',
    ])
  })

  it('warns of words that start another workflow too, but not of its own', async () => {
    const triggers = (mode: string, ...values: string[]) => [{ type: 'message_received', match: { mode, values } }]
    const other = { version: 1, triggers: triggers('contains', 'Price', 'Preço'), steps: [say('a')] }
    const id = await make('/workflows', { name: 'Prices', definition: other })
    expect(await warningsOf({ ...other })).to.deep.equal([])
    await call('POST', `/workflows/${id}/publish`, {})
    const rival = { triggers: triggers('exact', 'hello', ' PRICE '), steps: [say('a')] }
    const { warnings } = await validate(rival)
    expect(brief(warnings)).to.deep.equal(['duplicate_keyword triggers.0.match.values.1'])
    expect(warnings[0]?.message).to.contain('"Prices"')
    expect(brief((await validate(rival, id)).warnings)).to.deep.equal([])
    expect(await warningsOf({ triggers: triggers('regex', 'Price'), steps: [say('a')] })).to.deep.equal([])
  })

  it('warns of talking to nobody', async () => {
    const steps = [{ id: 'e', type: 'emit', event: 'x' }, say('a')]
    const schedule = { type: 'schedule', cron: '0 9 * * *' }
    expect(await warningsOf({ triggers: [schedule], steps })).to.deep.equal(['no_contact steps.1'])
    const groupId = await make('/groups', { name: 'Morning' })
    expect(await warningsOf({ triggers: [{ ...schedule, groupId }], steps })).to.deep.equal([])
    expect(await errorsOf({ triggers: [{ ...schedule, groupId: ABSENT }], steps })).to.deep.equal([
      'unknown_group triggers.0.groupId',
    ])
  })

  it('warns of a workflow that is not published, and a tool that is switched off', async () => {
    const workflowId = await make('/workflows', { name: 'Child' })
    const toolId = await make('/tools', {
      name: 'quote',
      title: 'Q',
      description: 'Q',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      effect: 'read',
      config: { method: 'GET', url: 'https://a.example' },
    })
    const steps = [
      { id: 'a', type: 'run_workflow', workflowId },
      { id: 'b', type: 'tool', tool: 'quote' },
    ]
    expect(await warningsOf({ steps })).to.deep.equal(['workflow_not_published steps.0.workflowId'])
    await call('POST', `/workflows/${workflowId}/publish`, {})
    expect((await call('PATCH', `/tools/${toolId}`, { enabled: false })).status).to.equal(200)
    expect(await warningsOf({ steps })).to.deep.equal(['tool_disabled steps.1.tool'])
  })

  const wait = (id: string, time: string, rest: object = {}) => ({ id, type: 'wait', for: time, ...rest })
  const ask = (id: string, rest: object = {}) => ({ id, type: 'ask', message: { body: '?' }, ...rest })

  const windows: [name: string, steps: object[], late: string[]][] = [
    ['a wait of less than a day', [wait('w', '23h'), say('a')], []],
    ['a wait of a day', [wait('w', '24h'), say('a'), say('b')], ['a', 'b']],
    ['several waits that make a day', [wait('v', '13h'), say('a'), wait('w', '13h'), say('b')], ['b']],
    ['a circle of short waits', [wait('w', '6h'), say('a', { next: 'w' })], ['a']],
    ['a wait until a moment that is not known', [{ id: 'w', type: 'wait', until: '{{vars.x}}' }, say('a')], ['a']],
    ['a message that may be left out', [wait('w', '2d'), say('a', { ifWindowClosed: 'skip' })], []],
    ['a message whose failure is dealt with', [wait('w', '2d'), say('a', { onError: 'continue' })], []],
    ['a reply after the wait', [wait('w', '2d'), { id: 'r', type: 'wait_for_reply' }, say('a')], []],
    [
      'a reply that may not come for a day',
      [ask('q', { timeout: '2d', onTimeout: 'a' }), say('b', { next: 'end' }), say('a')],
      ['a'],
    ],
    [
      'waits in a loop',
      [
        { id: 'l', type: 'loop', over: '{{contact.tags}}', max: 9, steps: [wait('w', '5h'), say('a')] },
        say('b', { onError: 'continue' }),
      ],
      ['a'],
    ],
    ['an event that may take its time', [{ id: 'e', type: 'wait_for_event', event: 'x' }, say('a')], ['a']],
    ['a wait that is passed over', [wait('w', '2d', { disabled: true }), say('a')], []],
  ]
  for (const [name, steps, late] of windows) {
    it(`${late.length > 0 ? 'warns of' : 'lets pass'} ${name}`, async () => {
      const { warnings } = await validate({ steps, variables: { x: { type: 'date' } } })
      const found = warnings.filter(({ code }) => code === 'outside_window_possible')
      expect(found.map(({ stepId }) => stepId)).to.deep.equal(late)
    })
  }
})
