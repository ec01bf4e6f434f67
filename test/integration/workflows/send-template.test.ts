import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { fireDueTimers } from '../../../src/features/automation/fire-due-timers.ts'
import { DAY } from '../../../src/platform/time.ts'
import {
  buildCloudApiChannel,
  buildConversation,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  newPhone,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SALE = { name: 'sale', language: 'en' }
const TEMPLATE = { id: 'template', type: 'send_template', template: SALE, params: { name: '{{contact.name}}' } }
const WAIT = { id: 'wait', type: 'wait', for: '2d' }

describe('templates in workflows', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
  })

  afterEach(() => cloud.stop())

  /** Starts the workflow by a message of a customer and lets two days pass if it waits. */
  async function run(steps: object[], { name = 'Ana', before = async (_contactId: string) => {} } = {}) {
    await buildWorkflow(workspace, { steps })
    const conversation = await buildConversation(workspace, { phone: newPhone(), name })
    await before(conversation.contactId)
    await app.work()
    app.clock.advance(2 * DAY)
    await fireDueTimers(app.system)
    await app.work()
    const { items } = await workspace.call('GET', '/api/runs')
    const overview = await workspace.call('GET', `/api/runs/${items[0].id}`)
    const { steps: records } = await workspace.call('GET', `/api/runs/${items[0].id}/steps`)
    const { messages } = await workspace.call('GET', `/api/conversations/${conversation.id}/messages`)
    const sent = messages.filter(({ direction }: ApiResponse['body']) => direction === 'outbound')
    return { run: overview, records, sent, contactId: conversation.contactId }
  }

  const buildSale = (fields: object = {}) => buildTemplate(workspace, { ...SALE, body: 'Hi {{name}}!', ...fields })

  it('send_template sends an approved template to a customer whose service window is closed', async () => {
    await buildSale()
    const { run: finished, records, sent } = await run([WAIT, TEMPLATE])
    expect(finished.status).to.equal('completed')
    expect(sent).to.have.length(1)
    expect(sent[0]).to.include({ type: 'template', body: 'Hi Ana!', status: 'delivered' })
    const record = records.find(({ stepId }: ApiResponse['body']) => stepId === 'template')
    expect(record.output).to.deep.equal({ messageId: sent[0].id })
    expect(record.input.params).to.deep.equal({ name: 'Ana' })
  })

  it('send_message sends the template of its message to a customer whose service window is closed', async () => {
    await buildSale()
    const message = { template: { ...SALE, params: { name: '{{contact.name}}' } } }
    const { run: finished, sent } = await run([WAIT, { id: 'say', type: 'send_message', message }])
    expect(finished.status).to.equal('completed')
    expect(sent.map(({ type, body }: ApiResponse['body']) => [type, body])).to.deep.equal([['template', 'Hi Ana!']])
  })

  it('publishing checks the template of a message and its parameters', async () => {
    await buildSale()
    const validate = async (template: object) => {
      const steps = [
        { id: 'wait', type: 'wait', for: '2d' },
        { id: 'say', type: 'send_message', message: { template } },
      ]
      const definition = { version: 1, triggers: [{ type: 'message_received', match: { mode: 'any' } }], steps }
      const { errors, warnings } = await workspace.call('POST', '/api/workflows/validate', { definition })
      return [...errors, ...warnings].map(({ code, path }: ApiResponse['body']) => `${code} ${path}`)
    }
    expect(await validate({ ...SALE, params: { name: 'Ana' } })).to.deep.equal([])
    expect(await validate(SALE)).to.deep.equal(['template_params_invalid steps.1.message.template.params.name'])
    expect(await validate({ name: 'unknown', language: 'en' })).to.deep.equal([
      'unknown_template steps.1.message.template',
    ])
  })

  it('send_template sends name, language and parameters to the provider', async () => {
    const channel = await buildCloudApiChannel(workspace, cloud)
    const body = {
      type: 'BODY',
      text: 'Hi {{name}}!',
      example: { body_text_named_params: [{ param_name: 'name', example: 'Ana' }] },
    }
    cloud.templates.add({ name: 'sale', components: [body], parameter_format: 'NAMED' })
    await workspace.call('POST', '/api/templates/sync', { channelId: channel.id })
    await buildWorkflow(workspace, { steps: [TEMPLATE] })
    await cloud.webhooks.sendText({ body: 'Hello', from: newPhone(), name: 'Bruna' })
    await app.work()
    expect(cloud.accepted.map(({ payload }) => [payload['type'], payload['template']])).to.deep.equal([
      [
        'template',
        {
          name: 'sale',
          language: { code: 'en' },
          components: [{ type: 'body', parameters: [{ type: 'text', parameter_name: 'name', text: 'Bruna' }] }],
        },
      ],
    ])
  })

  it('send_message with ifWindowClosed sends the template instead of the message when the window is closed', async () => {
    const { id } = await buildSale()
    const ifWindowClosed = { template: { templateId: id }, params: { name: '{{contact.name}}' } }
    const say = { type: 'send_message', message: { body: 'Free text' }, ifWindowClosed }
    const { sent, records } = await run([{ ...say, id: 'open' }, WAIT, { ...say, id: 'closed' }])
    expect(sent.map((message: ApiResponse['body']) => message.body)).to.deep.equal(['Free text', 'Hi Ana!'])
    expect(records.map(({ branch }: ApiResponse['body']) => branch)).to.deep.equal([null, null, 'window_closed'])
  })

  it('ask with ifWindowClosed asks by the template and waits for the reply', async () => {
    await buildSale()
    const ask = {
      id: 'ask',
      type: 'ask',
      message: { body: 'Free?' },
      ifWindowClosed: { template: SALE, params: { name: 'you' } },
      saveAs: 'vars.answer',
    }
    const { run: waiting, sent } = await run([WAIT, ask])
    expect(sent.map((message: ApiResponse['body']) => message.body)).to.deep.equal(['Hi you!'])
    expect(waiting.status).to.equal('waiting')
  })

  it('send_template fails with contact_opted_out when the contact opted out of marketing, and sends utility', async () => {
    await buildSale()
    await buildSale({ name: 'receipt', category: 'utility' })
    const receipt = { ...TEMPLATE, id: 'receipt', template: { name: 'receipt', language: 'en' } }
    const optOut = { id: 'out', type: 'set_consent', marketing: 'opted_out' }
    const { records, sent } = await run([optOut, { ...TEMPLATE, onError: 'continue' }, receipt])
    const failed = records.find(({ stepId }: ApiResponse['body']) => stepId === 'template')
    expect([failed.status, failed.error.code]).to.deep.equal(['failed', 'contact_opted_out'])
    expect(sent.map((message: ApiResponse['body']) => message.body)).to.deep.equal(['Hi Ana!'])
  })

  it('send_template fails with template_not_approved when the template was paused after publishing', async () => {
    const { id } = await buildSale()
    const { run: failed, sent } = await run([WAIT, TEMPLATE], {
      before: async () => {
        await app.system.db('templates').where('id', id).update({ status: 'paused' })
      },
    })
    expect([failed.status, failed.error.code]).to.deep.equal(['failed', 'template_not_approved'])
    expect(sent).to.deep.equal([])
  })

  it('send_template fails with template_params_invalid when a placeholder is empty', async () => {
    await buildSale()
    const { run: failed } = await run([{ ...TEMPLATE, params: { name: '{{contact.fields.nick}}' } }])
    expect(failed.error).to.include({ code: 'template_params_invalid' })
    expect(failed.error.message).to.include('"name" is empty')
  })

  describe('when they are published', () => {
    async function listErrors(step: object): Promise<string[]> {
      const definition = { version: 1, triggers: [], steps: [{ ...TEMPLATE, ...step }] }
      const { errors } = await workspace.call('POST', '/api/workflows/validate', { definition })
      return errors.map(({ code, path }: { code: string; path: string }) => `${code} ${path}`)
    }

    it('are accepted if the template is approved and the parameters fit', async () => {
      const { id } = await buildSale()
      expect(await listErrors({})).to.deep.equal([])
      expect(await listErrors({ template: { templateId: id } })).to.deep.equal([])
    })

    it('are rejected if the template does not exist', async () => {
      expect(await listErrors({})).to.deep.equal(['unknown_template steps.0.template'])
      const templateId = '0199a7a0-0000-7000-8000-000000000001'
      expect(await listErrors({ template: { templateId } })).to.deep.equal(['unknown_template steps.0.template'])
      const other = await buildWorkspace(app)
      const foreign = await buildTemplate(other)
      expect(await listErrors({ template: { templateId: foreign.id } })).to.deep.equal([
        'unknown_template steps.0.template',
      ])
    })

    it('are rejected if the template is not approved', async () => {
      const { id } = await buildSale()
      await app.system.db('templates').where('id', id).update({ status: 'pending' })
      expect(await listErrors({})).to.deep.equal(['template_not_approved steps.0.template'])
    })

    it('are rejected if parameters are missing, unknown or too long', async () => {
      await buildSale()
      expect(await listErrors({ params: { nick: 'x' } })).to.deep.equal([
        'template_params_invalid steps.0.params.name',
        'template_params_invalid steps.0.params.nick',
      ])
    })

    it('are rejected in ifWindowClosed alike', async () => {
      const closed = { template: SALE, params: {} }
      const step = {
        id: 'a',
        type: 'send_message',
        message: { body: 'x' },
        ifWindowClosed: closed,
        template: undefined,
      }
      expect(await listErrors({ ...step, params: undefined })).to.deep.equal([
        'unknown_template steps.0.ifWindowClosed.template',
      ])
      await buildSale()
      expect(await listErrors({ ...step, params: undefined })).to.deep.equal([
        'template_params_invalid steps.0.ifWindowClosed.params.name',
      ])
    })
  })

  it('simulations show the message of a template and send nothing', async () => {
    await buildSale()
    const workflow = await buildWorkflow(workspace, { steps: [WAIT, TEMPLATE] }, { publish: false })
    const simulation = await workspace.call('POST', `/api/workflows/${workflow.id}/simulate`, {
      dialogue: [{ type: 'message', body: 'Hello' }],
      contact: { name: 'Carla' },
    })
    const texts = simulation.transcript.map((entry: ApiResponse['body']) => entry.body)
    expect(texts).to.deep.equal(['Hello', 'Hi Carla!'])
    expect(simulation.effects.map(({ type }: ApiResponse['body']) => type)).to.deep.equal(['send_template'])
    expect(await app.system.db('messages').where('tenant_id', workspace.tenantId)).to.deep.equal([])
  })
})
