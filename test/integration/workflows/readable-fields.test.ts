import { expect } from 'chai'
import { type Fields, TRIGGER_FIELDS, toFields } from '../../../src/engine/language/fields.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { buildContact, buildWorkflow, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listRunSteps } from '../../support/queries.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const ROOTS = ['contact', 'conversation', 'message', 'workspace', 'workflow', 'run', 'trigger'] as const
const READ = {
  id: 'read',
  type: 'set',
  values: Object.fromEntries(ROOTS.map((root) => [root, `{{${root}}}`])),
}
const GROUP_ID = '0199c0de-0003-7000-8000-000000000001'
const LOOP = {
  id: 'each',
  type: 'loop',
  over: '{{contact.tags}}',
  max: 1,
  steps: [{ id: 'in_loop', type: 'set', values: { loop: '{{loop}}' } }],
}

/** The roots as a run has read them. */
type Facts = Record<string, unknown>

/** Compares the names of all fields of a value with those that definitions may read. */
function expectFields(value: unknown, fields: Fields | null | undefined, path: string): void {
  if (!fields) return
  expect(Object.keys(Object(value)), `fields of ${path}`).to.have.members(Object.keys(fields))
  for (const [name, inner] of Object.entries(fields)) {
    expectFields((value as Record<string, unknown>)[name], inner, `${path}.${name}`)
  }
}

function expectTrigger(facts: Facts, type: string): void {
  const { runId: _, ...common } = TRIGGER_FIELDS
  const recorded = workflowLanguage.triggers.get(type)?.recorded ?? []
  expectFields(facts['trigger'], { ...common, ...toFields(recorded) }, `the trigger ${type}`)
}

describe('the fields that a definition may read are those that a run reads', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let webhooks: WebhookCaller

  before(async () => {
    app = await startTestApp()
    const session = await app.signUp()
    workspace = new WorkspaceClient(app, session)
    webhooks = new WebhookCaller(app, session)
  })

  after(() => app.stop())

  /** Publishes a workflow that reads all roots, lets something start it, and returns the roots. */
  async function readFacts(trigger: object, start: (workflowId: string) => Promise<unknown>): Promise<Facts> {
    const { id } = await buildWorkflow(workspace, { triggers: [trigger], steps: [READ, LOOP] })
    await start(id)
    await app.work()
    const { items } = await workspace.call('GET', `/api/runs?workflowId=${id}`)
    expect(items[0]?.status, JSON.stringify(items)).to.equal('completed')
    const outputs = (await listRunSteps(workspace, items[0].id)).map(({ output }) => output)
    await workspace.call('POST', `/api/workflows/${id}/archive`, {})
    return Object.assign({}, ...outputs)
  }

  it('in a run that a message of a contact with a tag started', async () => {
    const facts = await readFacts({ type: 'message_received' }, async () => {
      const contact = await buildContact(workspace, { tags: ['vip'] })
      await sendAsCustomer(workspace, { contactId: contact.id })
    })
    for (const root of [...ROOTS, 'loop'] as const) expectFields(facts[root], workflowLanguage.roots[root], root)
    expect(facts['loop']).to.be.an('object')
    expectTrigger(facts, 'message_received')
  })

  it('in a simulated run of a sample contact', async () => {
    const { id } = await buildWorkflow(workspace, { steps: [READ] }, { publish: false })
    const dialogue = [{ type: 'message', body: 'x' }]
    const { runs } = await workspace.call('POST', `/api/workflows/${id}/simulate`, { dialogue })
    const facts: Facts = runs[0].steps[0].output
    for (const root of ROOTS) expectFields(facts[root], workflowLanguage.roots[root], root)
  })

  it('in a run after a step that changed the contact and the conversation', async () => {
    const changes = [
      { id: 'u', type: 'update_contact', values: { name: 'Eva', language: 'pt' } },
      { id: 't', type: 'add_tag', tags: ['new'] },
      { id: 'c', type: 'set_consent', marketing: 'opted_in' },
      { id: 's', type: 'assign', to: { strategy: 'round_robin' } },
      { id: 'h', type: 'handoff', next: 'read' },
    ]
    const { id } = await buildWorkflow(workspace, { steps: [...changes, READ] }, { publish: false })
    const dialogue = [{ type: 'message', body: 'x' }]
    const { runs } = await workspace.call('POST', `/api/workflows/${id}/simulate`, { dialogue })
    const facts: Facts = runs[0].steps.at(-1).output
    for (const root of ROOTS) expectFields(facts[root], workflowLanguage.roots[root], root)
  })

  const start = (type: string) => async (id: string) => {
    const contact = await buildContact(workspace)
    return workspace.call('POST', `/api/workflows/${id}/runs`, { contactId: contact.id, trigger: type })
  }
  const simulated: [type: string, trigger: object, event: object][] = [
    ['contact_updated', {}, { fields: ['email'] }],
    ['tag_added', { tag: 'vip' }, { tag: 'vip' }],
    ['tag_removed', { tag: 'vip' }, { tag: 'vip' }],
    ['group_joined', { groupId: GROUP_ID }, { groupId: GROUP_ID }],
    ['group_left', { groupId: GROUP_ID }, { groupId: GROUP_ID }],
    ['broadcast_replied', {}, {}],
    ['event', { event: 'paid' }, { event: 'paid', data: { total: 1 } }],
  ]

  for (const type of ['api', 'manual']) {
    it(`in a run that the trigger ${type} started`, async () => {
      expectTrigger(await readFacts({ type }, start(type)), type)
    })
  }

  it('in a run that a webhook started', async () => {
    const facts = await readFacts({ type: 'webhook' }, async (id) => {
      await webhooks.callSigned(await webhooks.rotateSecret(id), {})
    })
    expectTrigger(facts, 'webhook')
  })

  it('in a run that a schedule started', async () => {
    const at = new Date(app.clock.now().getTime() + 60_000).toISOString()
    const facts = await readFacts({ type: 'schedule', at }, async () => app.clock.advance(61_000))
    expectTrigger(facts, 'schedule')
  })

  it('in a run that a step of another run started', async () => {
    const child = await buildWorkflow(workspace, { triggers: [{ type: 'manual' }], steps: [READ] })
    const steps = [{ id: 'child', type: 'run_workflow', workflowId: child.id }]
    const parent = await buildWorkflow(workspace, { triggers: [{ type: 'api' }], steps })
    await start('api')(parent.id)
    await app.work()
    const { items } = await workspace.call('GET', `/api/runs?workflowId=${child.id}`)
    const [{ output }] = await listRunSteps(workspace, items[0].id)
    expectFields(output.trigger, TRIGGER_FIELDS, 'trigger')
    const runs = await workspace.call('GET', `/api/runs?workflowId=${parent.id}`)
    const [step] = await listRunSteps(workspace, runs.items[0].id)
    expectFields(step.output, workflowLanguage.steps.get('run_workflow')?.output({ wait: true }), 'the output')
  })

  for (const [type, trigger, event] of simulated) {
    it(`in a simulated run that the trigger ${type} started`, async () => {
      const definition = { triggers: [{ type, ...trigger }], steps: [READ] }
      const { id } = await buildWorkflow(workspace, definition, { publish: false })
      const dialogue = type === 'broadcast_replied' ? [{ type: 'message', body: 'x' }] : []
      const request = { trigger: { type, ...event }, dialogue }
      const { runs } = await workspace.call('POST', `/api/workflows/${id}/simulate`, request)
      expectTrigger(runs[0].steps[0].output, type)
    })
  }
})
