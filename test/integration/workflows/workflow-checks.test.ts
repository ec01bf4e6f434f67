import { expect } from 'chai'
import { buildTemplate, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'

type Problem = { code: string; path: string; stepId: string | null; message: string }

describe('POST /api/workflows/validate', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    await buildTemplate(workspace, { name: 'sale', language: 'en' })
  })

  after(() => app.stop())

  async function validate(
    fields: object,
    workflowId?: string,
  ): Promise<{ valid: boolean; errors: Problem[]; warnings: Problem[] }> {
    const definition = { version: 1, triggers: [{ type: 'contact_created' }], steps: [], ...fields }
    return workspace.call('POST', '/api/workflows/validate', { definition, workflowId })
  }

  const createGroup = async (name: string): Promise<string> =>
    (await workspace.call('POST', '/api/groups', { name })).id

  const summarize = (problems: Problem[]) => problems.map(({ code, path }) => `${code} ${path}`)
  const listErrors = async (definition: object) => summarize((await validate(definition)).errors)
  const listWarnings = async (definition: object) => {
    const { valid, errors, warnings } = await validate(definition)
    expect(valid, JSON.stringify(errors)).to.equal(true)
    return summarize(warnings)
  }

  const say = (id: string, rest: object = {}) => ({ id, type: 'send_message', message: { body: 'x' }, ...rest })

  describe('with a feature that is not supported', () => {
    const cases: [name: string, definition: object, path: string][] = [
      ['a message_status trigger', { triggers: [{ type: 'message_status', status: 'read' }] }, 'triggers.0.type'],
      ['an input schema', { inputs: { type: 'object' } }, 'inputs'],
      ['quiet hours', { settings: { quietHours: { from: '22:00', to: '08:00' } } }, 'settings.quietHours'],
      ['failure notifications', { settings: { onFailure: { notify: [] } } }, 'settings.onFailure'],
      ['a footer', { steps: [say('a', { message: { body: 'x', footer: 'y' } })] }, 'steps.0.message.footer'],
      [
        'a media reply',
        { steps: [{ id: 'a', type: 'ask', message: { body: 'x' }, expect: { type: 'media' } }] },
        'steps.0.expect.type',
      ],
    ]
    for (const [name, definition, path] of cases) {
      it(`rejects ${name} with not_supported and a message that names the alternative`, async () => {
        const { errors } = await validate(definition)
        expect(errors.filter(({ code }) => code === 'not_supported').map((error) => error.path)).to.deep.equal([path])
        expect(errors.every(({ path: at }) => at === path || at === 'steps.0.message.body')).to.equal(true)
        expect(errors.find((error) => error.path === path)?.message).to.match(/not supported yet: \w+/)
      })
    }

    it('rejects misspelled fields and types as unknown', async () => {
      const definition = {
        triggers: [{ type: 'mesage_received' }],
        settings: { quietHour: {} },
        steps: [{ id: 'a', type: 'send_templat' }],
      }
      expect(await listErrors(definition)).to.have.members([
        'unknown_field settings.quietHour',
        'unknown_trigger_type triggers.0.type',
        'unknown_step_type steps.0.type',
      ])
    })
  })

  it('rejects references to resources that the workspace does not have', async () => {
    const otherWorkspace = await buildWorkspace(app)
    const foreignGroup = await otherWorkspace.call('POST', '/api/groups', { name: 'G' })
    const { errors } = await validate({
      triggers: [{ type: 'message_received', channelId: UNKNOWN_ID }],
      steps: [
        { id: 'a', type: 'add_to_group', groupId: foreignGroup.id },
        { id: 'b', type: 'remove_from_group', groupId: UNKNOWN_ID },
        { id: 'c', type: 'tool', tool: 'no_such_tool' },
        { id: 'd', type: 'ai', instructions: 'x', tools: ['time.now', 'nor_this'] },
        { id: 'e', type: 'run_workflow', workflowId: UNKNOWN_ID },
      ],
    })
    const unknown = errors.filter(({ code }) => code.startsWith('unknown_') && code !== 'unknown_step_type')
    expect(unknown.map(({ code, path, stepId }) => [code, path, stepId])).to.deep.equal([
      ['unknown_channel', 'triggers.0.channelId', null],
      ['unknown_group', 'steps.0.groupId', 'a'],
      ['unknown_group', 'steps.1.groupId', 'b'],
      ['unknown_tool', 'steps.2.tool', 'c'],
      ['unknown_tool', 'steps.3.tools.1', 'd'],
      ['unknown_workflow', 'steps.4.workflowId', 'e'],
    ])
  })

  it('accepts references to existing resources, which publish rejects after their deletion', async () => {
    const groupId = await createGroup('Here')
    const channels = await workspace.call('GET', '/api/channels')
    const definition = {
      version: 1,
      triggers: [
        { type: 'message_received', channelId: channels.items[0].id, match: { mode: 'exact', values: ['g'] } },
      ],
      steps: [
        { id: 'a', type: 'add_to_group', groupId: groupId.toUpperCase() },
        { id: 'b', type: 'assign', to: { userId: workspace.userId } },
        { id: 'c', type: 'handoff', assign: { userId: '{{contact.fields.agent}}' } },
      ],
    }
    expect(await listWarnings(definition)).to.deep.equal([])
    const { id } = await buildWorkflow(workspace, definition)
    await workspace.call('DELETE', `/api/groups/${groupId}`)
    await workspace.call('PATCH', `/api/workflows/${id}`, { definition: { ...definition, variables: {} } })
    const { status, body } = await workspace.request('POST', `/api/workflows/${id}/publish`, {})
    expect([status, body.code, body.details[0].code]).to.deep.equal([422, 'workflow_invalid', 'unknown_group'])
  })

  it('warns about an assignee who is not a member', async () => {
    const steps = [
      { id: 'a', type: 'assign', to: { userId: UNKNOWN_ID } },
      { id: 'b', type: 'handoff', assign: { userId: UNKNOWN_ID } },
    ]
    expect(await listWarnings({ steps })).to.deep.equal([
      'unknown_member steps.0.to.userId',
      'unknown_member steps.1.assign.userId',
    ])
  })

  it('warns about a keyword of another published workflow but not of the workflow itself', async () => {
    const triggers = (mode: string, ...values: string[]) => [{ type: 'message_received', match: { mode, values } }]
    const other = { version: 1, triggers: triggers('contains', 'Price', 'Preço'), steps: [say('a')] }
    const { id } = await buildWorkflow(workspace, other, { name: 'Prices', publish: false })
    expect(await listWarnings({ ...other })).to.deep.equal([])
    await workspace.call('POST', `/api/workflows/${id}/publish`, {})
    const duplicate = { triggers: triggers('exact', 'hello', ' PRICE '), steps: [say('a')] }
    const { warnings } = await validate(duplicate)
    expect(summarize(warnings)).to.deep.equal(['duplicate_keyword triggers.0.match.values.1'])
    expect(warnings[0]?.message).to.contain('"Prices"')
    expect(summarize((await validate(duplicate, id)).warnings)).to.deep.equal([])
    expect(await listWarnings({ triggers: triggers('regex', 'Price'), steps: [say('a')] })).to.deep.equal([])
  })

  it('warns about a keyword that is a consent keyword of the workspace', async () => {
    const match = { mode: 'exact', values: ['hello', 'Stop!', 'adios'] }
    const definition = { triggers: [{ type: 'message_received', match }], steps: [say('a')] }
    expect(await listWarnings(definition)).to.deep.equal(['consent_keyword triggers.0.match.values.1'])
    const optOut = { added: ['adios'], removed: ['stop'] }
    await workspace.call('PUT', '/api/workspace/consent-keywords', { optOut })
    expect(await listWarnings(definition)).to.deep.equal(['consent_keyword triggers.0.match.values.2'])
    await workspace.call('PUT', '/api/workspace/consent-keywords', {})
  })

  const wait = (id: string, time: string, rest: object = {}) => ({ id, type: 'wait', for: time, ...rest })

  it('warns about a step that needs a contact under a schedule trigger without a group', async () => {
    const steps = [wait('w', '1m'), { ...say('off'), disabled: true }, say('a')]
    const schedule = { type: 'schedule', cron: '0 9 * * *' }
    expect(await listWarnings({ triggers: [schedule], steps })).to.deep.equal(['no_contact steps.2'])
    const others = [
      { id: 't', type: 'add_tag', tags: ['x'] },
      { id: 'e', type: 'emit', event: 'x' },
    ]
    for (const step of others) {
      expect(await listWarnings({ triggers: [schedule], steps: [step] })).to.deep.equal(['no_contact steps.0'])
    }
    const groupId = await createGroup('Morning')
    expect(await listWarnings({ triggers: [{ ...schedule, groupId }], steps })).to.deep.equal([])
    expect(await listErrors({ triggers: [{ ...schedule, groupId: UNKNOWN_ID }], steps })).to.deep.equal([
      'unknown_group triggers.0.groupId',
    ])
  })

  it('warns about an unpublished child workflow and a disabled tool', async () => {
    const { id: workflowId } = await buildWorkflow(workspace, {}, { publish: false })
    const { id: toolId } = await workspace.call('POST', '/api/tools', {
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
    expect(await listWarnings({ steps })).to.deep.equal(['workflow_not_published steps.0.workflowId'])
    await workspace.call('POST', `/api/workflows/${workflowId}/publish`, {})
    await workspace.call('PATCH', `/api/tools/${toolId}`, { enabled: false })
    expect(await listWarnings({ steps })).to.deep.equal(['tool_disabled steps.1.tool'])
  })

  const ask = (id: string, rest: object = {}) => ({ id, type: 'ask', message: { body: '?' }, ...rest })

  const windowCases: [name: string, steps: object[], lateStepIds: string[]][] = [
    ['a wait of less than 24 hours', [wait('w', '23h'), say('a')], []],
    ['a wait of 24 hours', [wait('w', '24h'), say('a'), say('b')], ['a', 'b']],
    ['several waits of 24 hours in total', [wait('v', '13h'), say('a'), wait('w', '13h'), say('b')], ['b']],
    ['a cycle of short waits', [wait('w', '6h'), say('a', { next: 'w' })], ['a']],
    ['a wait until a variable time', [{ id: 'w', type: 'wait', until: '{{vars.x}}' }, say('a')], ['a']],
    ['a message with ifWindowClosed skip', [wait('w', '2d'), say('a', { ifWindowClosed: 'skip' })], []],
    [
      'a message with a template for a closed window',
      [wait('w', '2d'), say('a', { ifWindowClosed: { template: { name: 'sale', language: 'en' } } })],
      [],
    ],
    [
      'a question after a template',
      [wait('w', '2d'), { id: 't', type: 'send_template', template: { name: 'sale', language: 'en' } }, ask('q')],
      ['q'],
    ],
    ['a message with onError continue', [wait('w', '2d'), say('a', { onError: 'continue' })], []],
    ['a reply after the wait', [wait('w', '2d'), { id: 'r', type: 'wait_for_reply' }, say('a')], []],
    [
      'a reply timeout of more than 24 hours',
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
    ['a wait for an event without a timeout', [{ id: 'e', type: 'wait_for_event', event: 'x' }, say('a')], ['a']],
    ['a disabled wait', [wait('w', '2d', { disabled: true }), say('a')], []],
  ]
  for (const [name, steps, lateStepIds] of windowCases) {
    it(`returns ${lateStepIds.length > 0 ? 'the warning' : 'no warning'} outside_window_possible for ${name}`, async () => {
      const { warnings } = await validate({ steps, variables: { x: { type: 'date' } } })
      const windowWarnings = warnings.filter(({ code }) => code === 'outside_window_possible')
      expect(windowWarnings.map(({ stepId }) => stepId)).to.deep.equal(lateStepIds)
    })
  }
})
