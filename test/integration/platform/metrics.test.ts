import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { readBacklog } from '../../../src/features/outbound/read-backlog.ts'
import { metrics } from '../../../src/platform/metrics.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { type TestApp, startTestApp } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'

const SERIES_MAX = 2000

async function get(url: string | undefined, path: string) {
  const response = await fetch(`${url}${path}`)
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

/** Sums the values of a metric whose labels include all of these. */
function sum(scrape: string, name: string, labels: Record<string, string> = {}): number {
  return scrape.split('\n').reduce((total, line) => {
    const [, series, list = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const isOf = series === name && Object.entries(labels).every(([key, text]) => list.includes(`${key}="${text}"`))
    return isOf ? total + Number(value) : total
  }, 0)
}

/** Runs the health check of the container of a worker. Returns its exit code. */
async function checkHealth({ metricsUrl = '' }: ParleyProcess): Promise<unknown> {
  const [, command = '[]'] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? []
  const [program = '', ...args] = JSON.parse(command) as string[]
  const env = { ...process.env, ROLES: 'worker', METRICS_PORT: new URL(metricsUrl).port }
  const [code] = await once(spawn(program, args, { env }), 'exit')
  return code
}

/** Returns the rows of the table of metrics. */
function listRows(): string[][] {
  return Object.values(metrics).map((metric) => {
    const { name, help, labelNames } = metric as unknown as { name: string; help: string; labelNames: string[] }
    const type = metric.constructor.name.toLowerCase()
    return [`\`${name.replace('parley_', '')}\``, type, labelNames.map((label) => `\`${label}\``).join(', '), help]
  })
}

describe('the server of metrics', function () {
  this.timeout(120_000)
  let app: TestApp
  let customer: Customer
  const processes: ParleyProcess[] = []

  const start = async (environment: Record<string, string>, databaseUrl = app.databaseUrl) => {
    const started = await startParleyProcess({
      DATABASE_URL: databaseUrl,
      DATA_DIR: app.dataDir,
      METRICS_PORT: '0',
      ...environment,
    })
    processes.push(started)
    return started
  }

  before(async () => {
    app = await startTestApp({ ROLES: 'http', METRICS_PORT: '0', PUBLIC_HOSTS: 'parley.example' }, systemClock)
    customer = await Customer.create(app, [{ id: 'hello', type: 'send_message', message: { body: 'Hello' } }])
  })
  after(async () => {
    for (const process of processes) await process.kill()
    await app.stop()
  })

  it('counts an answer from the request to the send, with no label of a workspace, contact or address', async () => {
    const worker = await start({ ROLES: 'worker', COMMIT: 'abc123' })
    await customer.send()
    let ofWorker = await get(worker.metricsUrl, '/metrics')
    // The job ends a moment after its message is sent.
    const sent = { task: 'deliver', outcome: 'ok' }
    await waitUntil(async () => {
      ofWorker = await get(worker.metricsUrl, '/metrics')
      return sum(ofWorker.text, 'parley_job_duration_seconds_count', sent) > 0
    })
    expect(await customer.sent()).to.deep.equal(['Hello'])
    const ofServer = await get(app.metricsUrl, '/metrics')
    expect(ofWorker.type).to.match(/^text\/plain; version=0\.0\.4/)
    const labels = { operation: 'sandbox.sendAsCustomer', method: 'POST', status_class: '2xx' }
    expect(sum(ofServer.text, 'parley_http_request_duration_seconds_count', labels), 'requests').to.equal(1)
    expect(sum(ofWorker.text, 'parley_runs_total', { status: 'completed' }), 'runs').to.equal(1)
    expect(sum(ofWorker.text, 'parley_run_step_duration_seconds_count', { step_type: 'send_message' })).to.equal(1)
    expect(sum(ofWorker.text, 'parley_sends_total', { channel_kind: 'sandbox', outcome: 'accepted' })).to.equal(1)
    expect(sum(ofWorker.text, 'parley_answer_latency_seconds_count', { channel_kind: 'sandbox' })).to.equal(1)
    expect(sum(ofWorker.text, 'parley_db_pool_wait_seconds_count', { pool: 'engine' })).to.be.above(0)
    expect(
      sum(ofWorker.text, 'parley_db_statement_duration_seconds_count', { statement: 'claimMessages' }),
    ).to.be.above(0)
    expect(sum(ofWorker.text, 'parley_build_info', { commit: 'abc123', roles: 'worker' })).to.equal(1)
    for (const { text } of [ofWorker, ofServer]) {
      expect(text).to.not.match(/[0-9a-f]{8}-[0-9a-f]{4}-/)
      expect(text.split('\n').filter((line) => !line.startsWith('#')).length).to.be.below(SERIES_MAX)
    }
  })

  it('tells of a worker whether it is alive, ready, and what it is', async () => {
    const proxy = await TcpProxy.start(app.databaseUrl)
    const worker = await start({ ROLES: 'worker' }, proxy.through(app.databaseUrl))
    expect((await get(worker.metricsUrl, '/readyz')).status).to.equal(200)
    expect(await checkHealth(worker)).to.equal(0)
    const info = JSON.parse((await get(worker.metricsUrl, '/info')).text)
    expect(info).to.include({ commit: null })
    expect(info.roles).to.deep.equal(['worker'])
    expect(info.latestMigration).to.match(/^\d{14}_/)
    await proxy.refuse()
    await waitUntil(async () => (await get(worker.metricsUrl, '/readyz')).status === 503)
    expect(JSON.parse((await get(worker.metricsUrl, '/readyz')).text)).to.deep.equal({
      status: 'unavailable',
      reason: 'database unreachable',
    })
    expect(await checkHealth(worker)).to.equal(1)
    expect((await get(worker.metricsUrl, '/healthz')).status).to.equal(200)
    expect((await get(worker.metricsUrl, '/info')).status).to.equal(200)
    expect((await get(worker.metricsUrl, '/metrics')).status).to.equal(200)
    expect((await get(worker.metricsUrl, '/api/contacts')).status).to.equal(404)
  })

  it('shows the backlog of all processes in the one that has read it last', async () => {
    await app.system.db('periodic_tasks').delete()
    await readBacklog(app.system)
    expect(sum((await get(app.metricsUrl, '/metrics')).text, 'parley_outbox_messages')).to.equal(0)
    expect((await get(app.metricsUrl, '/metrics')).text).to.include('parley_mailbox_oldest_due_seconds 0\n')
    // Another process has had its turn.
    await readBacklog(app.system)
    const { text } = await get(app.metricsUrl, '/metrics')
    for (const name of ['mailbox_items', 'outbox_messages', 'dead_letters{', 'broadcast_recipients'])
      expect(text).to.not.include(`parley_${name}`)
  })

  it('counts what is rejected', async () => {
    const rejected = async () =>
      sum((await get(app.metricsUrl, '/metrics')).text, 'parley_http_rejected_total', { reason: 'host' })
    const before = await rejected()
    const call = request(`${app.url}/api/contacts`, { headers: { host: 'other.example' } }).end()
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    expect(response.resume().statusCode).to.equal(400)
    expect(await rejected()).to.equal(before + 1)
  })

  it('is described in docs/operations.md, with the type and the labels of each metric', () => {
    const documented = readFileSync('docs/operations.md', 'utf8')
      .split('\n')
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
    for (const row of listRows()) expect(documented).to.deep.include(row)
    const names = documented.filter((row) => ['counter', 'gauge', 'histogram'].includes(row[1] ?? ''))
    expect(names).to.have.length(listRows().length)
  })

  it('is not there without a port', async () => {
    const worker = await start({ ROLES: 'worker', METRICS_PORT: '' })
    expect(worker.metricsUrl).to.equal(undefined)
  })
})
