import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { systemClock } from '../../../src/platform/time.ts'
import {
  buildCloudApiChannel,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { startBroadcast } from '../../support/broadcasts.ts'
import { OtlpReceiver, type ReceivedSpan } from '../../support/otlp-receiver.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { json, neverReply, ScriptedServer } from '../../support/scripted-server.ts'
import { pause, say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER_SPAN_ID = '00f067aa0ba902b7'

describe('traces of two processes', function () {
  this.timeout(180_000)
  let app: TestApp
  let cloud: FakeCloudApi
  let shop: ScriptedServer
  let receiver: OtlpReceiver
  let workspace: WorkspaceClient
  let webhookPath: string
  let processes: ParleyProcess[]

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' }, systemClock)
    cloud = await FakeCloudApi.start()
    shop = await ScriptedServer.start()
    shop.replyWith(json({ price: 5 }))
    workspace = await buildWorkspace(app)
    const steps = [{ id: 'price', type: 'http', url: `${shop.url}/price` }, say('answer', 'Hello')]
    await buildWorkflow(workspace, { steps })
    webhookPath = (await buildCloudApiChannel(workspace, cloud))['webhookPath']
  })

  beforeEach(async () => {
    processes = []
    cloud.clearFaults()
    receiver = await OtlpReceiver.start()
  })

  afterEach(async () => {
    await Promise.all(processes.map((process) => process.kill()))
    await receiver.stop()
  })

  after(async () => {
    await shop?.stop()
    await cloud?.stop()
    await app?.stop()
  })

  /** Starts a process that answers HTTP and one that works; returns the address of the first. */
  async function startBoth(settings: Record<string, string>): Promise<string> {
    const shared = { DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, ALLOW_LOOPBACK_CHANNELS: 'true' }
    for (const ROLES of ['http', 'worker'])
      processes.push(await startParleyProcess({ ...shared, ROLES, LOG_LEVEL: 'info', ...settings }))
    const url = processes[0]?.url ?? ''
    cloud.webhooks.callbackUrl = url + webhookPath
    return url
  }

  /** Writes as a customer and waits for the answer. */
  async function converse(): Promise<void> {
    const accepted = cloud.accepted.length
    await cloud.webhooks.sendText({ from: newPhone().slice(1), body: 'hi' })
    await waitUntil(() => cloud.accepted.length > accepted)
  }

  async function findSpan(name: string, isFound: (span: ReceivedSpan) => boolean = () => true): Promise<ReceivedSpan> {
    const find = () => receiver.spans.find((span) => span.name === name && isFound(span))
    await waitUntil(() => find() !== undefined)
    return find() as ReceivedSpan
  }

  it('go from the webhook over the steps and the external call to the provider', async () => {
    await startBoth({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url, OTEL_TRACES_SAMPLER_ARG: '1' })
    await converse()
    const { traceId, attributes } = await findSpan('message.settle')
    await waitUntil(() => receiver.listTrace(traceId).some(({ name }) => name === 'http.request'))
    const spans = receiver.listTrace(traceId)
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    const path = (span: ReceivedSpan): string => {
      const parent = byId.get(span.parentSpanId ?? '')
      return parent ? `${path(parent)} > ${span.name}` : span.name
    }
    const toCall = 'http.request > webhook.store > mailbox.advance > external.call'
    const toAnswer = `${toCall} > mailbox.advance`
    expect(spans.map(path)).to.have.members([
      'http.request',
      'http.request > webhook.store',
      'http.request > webhook.store > mailbox.advance',
      'http.request > webhook.store > mailbox.advance > step.http',
      toCall,
      toAnswer,
      `${toAnswer} > step.http`,
      `${toAnswer} > step.send_message`,
      `${toAnswer} > outbox.claim`,
      `${toAnswer} > outbox.claim > provider.send`,
      `${toAnswer} > outbox.claim > message.settle`,
    ])
    expect(attributes).to.deep.equal({})
    const roles = new Map(spans.map(({ name, resource }) => [name, resource['parley.role']]))
    expect(roles.get('webhook.store')).to.equal('http')
    expect(roles.get('provider.send')).to.equal('worker')
    const advance = spans.findLast(({ name }) => name === 'mailbox.advance')
    expect(advance?.attributes).to.include({ 'parley.tenant_id': workspace.tenantId, 'parley.workflow_version': 1 })
    expect(advance?.attributes).to.have.property('parley.run_id')
    expect(spans.filter(({ hasFailed }) => hasFailed)).to.deep.equal([])
    expect(spans.every(({ durationMs }) => durationMs >= 0)).to.equal(true)
    const line = processes[0]?.lines.find((fields) => fields['traceId'] === traceId)
    expect(line).to.include({ msg: 'request answered', tenantId: workspace.tenantId })
    expect(shop.calls.map(({ headers }) => headers['traceparent'])).to.deep.equal([undefined])
  })

  it('continue that of a caller if it is sampled there, and leave out the others', async () => {
    const url = await startBoth({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url, OTEL_TRACES_SAMPLER_ARG: '0' })
    const get = (traceparent: string) => fetch(`${url}/api/contacts`, { headers: { traceparent } })
    await get(`00-${TRACE_ID}-${CALLER_SPAN_ID}-00`)
    await get(`00-${TRACE_ID}-${'0'.repeat(16)}-01`)
    await get('nonsense')
    await get(`00-${TRACE_ID}-${CALLER_SPAN_ID}-01`)
    const { traceId, parentSpanId, attributes } = await findSpan('http.request')
    expect({ traceId, parentSpanId }).to.deep.equal({ traceId: TRACE_ID, parentSpanId: CALLER_SPAN_ID })
    expect(attributes).to.include({ 'url.path': '/api/contacts', 'http.response.status_code': 401 })
    expect(receiver.spans).to.have.length(1)
  })

  it('have a span of each failed send although nothing is sampled', async () => {
    await startBoth({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url, OTEL_TRACES_SAMPLER_ARG: '0' })
    cloud.rejectNext(131026)
    await cloud.webhooks.sendText({ from: newPhone().slice(1), body: 'hi' })
    const { hasFailed, attributes } = await findSpan('provider.send')
    expect(hasFailed).to.equal(true)
    expect(attributes).to.include({ 'parley.outcome': 'refused', 'parley.tenant_id': workspace.tenantId })
    expect(attributes).to.have.property('error.type')
    expect(receiver.spans.map(({ name }) => name)).to.deep.equal(['provider.send'])
  })

  it('have a span of each failure of a run, whose line in the log names the trace', async () => {
    await startBoth({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url, OTEL_TRACES_SAMPLER_ARG: '0' })
    const nap = [{ type: 'message_received', match: { mode: 'exact', values: ['nap'] } }]
    const { id } = await buildWorkflow(workspace, { triggers: nap, steps: [pause('rest', { for: '2s' })] })
    await sendAsCustomer(workspace, { phone: newPhone(), body: 'nap' })
    const waiting = () => app.system.db('runs').where({ workflow_id: id, status: 'waiting' })
    await waitUntil(async () => (await waiting()).length > 0)
    await waiting().update({ state: app.system.db.raw("state - 'visits'") })
    const { hasFailed, traceId } = await findSpan('mailbox.advance')
    expect(hasFailed).to.equal(true)
    const line = processes[1]?.lines.find(({ event }) => event === 'mailbox_failed')
    expect(line).to.include({ traceId, tenantId: workspace.tenantId })
  })

  it('go from a portion of a broadcast to the messages that it sends', async () => {
    await startBoth({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.server.url, OTEL_TRACES_SAMPLER_ARG: '1' })
    const template = await buildTemplate(workspace)
    const broadcastId = await startBroadcast(workspace, template.id, [newPhone(), newPhone()])
    const { traceId, attributes } = await findSpan('provider.send')
    expect(attributes).to.include({ 'parley.channel_kind': 'sandbox', 'parley.outcome': 'accepted' })
    await findSpan('broadcast.batch', (span) => span.traceId === traceId)
    const [batch] = receiver.listTrace(traceId)
    expect(batch?.attributes).to.include({ 'parley.broadcast_id': broadcastId })
    expect(batch).not.to.have.property('parentSpanId')
  })

  it('leave no ID in the log while they are switched off', async () => {
    await startBoth({})
    await converse()
    const fields = processes.flatMap(({ lines }) => lines.flatMap((line) => Object.keys(line)))
    expect(fields).to.include('tenantId').and.not.to.include('traceId')
  })

  for (const [state, prepare] of Object.entries({
    'does not answer': () => receiver.server.replyWith(neverReply),
    'cannot be reached': () => receiver.stop(),
  })) {
    it(`do not delay answers while their receiver ${state}, which is logged`, async () => {
      const OTEL_EXPORTER_OTLP_ENDPOINT = receiver.server.url
      await prepare()
      await startBoth({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER_ARG: '1' })
      for (let count = 0; count < 5; count += 1) await converse()
      const events = () => processes.map(({ lines }) => lines.find(({ event }) => event === 'traces_not_sent'))
      await waitUntil(() => events().every((line) => line !== undefined))
    })
  }
})
