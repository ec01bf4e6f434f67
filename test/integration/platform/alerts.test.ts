import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { ROOT } from '../../support/documents.ts'
import { type TestApp, startTestApp } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PROMTOOL = '/usr/bin/promtool'
/** In CI its tests fail without it. */
const hasPromtool = existsSync(PROMTOOL) || process.env['CI'] !== undefined
const ALERTS = join(ROOT, 'ops/prometheus/alerts.yaml')
const rules = readFileSync(ALERTS, 'utf8')
const dashboard = readFileSync(join(ROOT, 'ops/grafana/parley.json'), 'utf8')
const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')

function listMetrics(text: string): Set<string> {
  return new Set([...text.matchAll(/\b(?:parley|process|nodejs)_[a-z_]+/g)].map(([name]) => name))
}

describe('the alerts and the dashboard', function () {
  this.timeout(180_000)
  let app: TestApp
  let worker: ParleyProcess
  let scrape = ''

  before(async () => {
    app = await startTestApp({ ROLES: 'http', METRICS_PORT: '0' }, systemClock)
    const { databaseUrl, dataDir } = app
    worker = await startParleyProcess({
      DATABASE_URL: databaseUrl,
      DATA_DIR: dataDir,
      ROLES: 'worker',
      METRICS_PORT: '0',
    })
    const customer = await Customer.create(app, [{ id: 'hello', type: 'send_message', message: { body: 'Hello' } }])
    await customer.send()
    const read = async () => (await fetch(`${worker.metricsUrl}/metrics`)).text()
    await waitUntil(async () => {
      scrape = await read()
      return scrape.includes('parley_mailbox_items') && /^parley_sends_total\{/m.test(scrape)
    })
  })
  after(async () => {
    await worker.kill()
    await app.stop()
  })

  it('name only metrics that a process under traffic shows', () => {
    const described = [...scrape.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
    )
    const used = new Set([...listMetrics(rules), ...listMetrics(dashboard)])
    expect(used.size).to.be.above(30)
    expect([...used].filter((name) => !described.includes(name))).to.deep.equal([])
  })

  it('have a section in docs/operations.md for each alert, and no other', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
    const sections = [...operations.matchAll(/^### (Parley\w+)$/gm)].map(([, name]) => name)
    expect(alerts).to.deep.equal(sections)
    const runbooks = [...rules.matchAll(/runbook: docs\/operations\.md#(\w+)/g)].map(([, name]) => name)
    expect(runbooks).to.deep.equal(alerts.map((name) => name?.toLowerCase()))
  })

  it('fire when all processes are down, when no worker is left, and when a task that is rare fails each time', async function () {
    if (!hasPromtool) return this.skip()
    const isUp = (instance: string, value: number) => ({
      series: `up{job="parley",instance="${instance}"}`,
      values: `${value}+0x60`,
    })
    const cases = [
      { alert: 'ParleyTooFewReady', series: [isUp('a', 0), isUp('b', 0)] },
      { alert: 'ParleyMessagesWait', series: [isUp('a', 1), isUp('b', 1)] },
      {
        alert: 'ParleyTasksFail',
        series: [{ series: 'parley_periodic_task_failed_total{task="purge events"}', values: '0+0.1x60' }],
      },
    ]
    const tests = cases.map(({ alert, series }) => ({
      interval: '1m',
      input_series: series,
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
          eval_time: '55m',
          exp_samples: [{ labels: '{}', value: 1 }],
        },
      ],
    }))
    const folder = createTempDir()
    const file = join(folder.path, 'alerts.test.yaml')
    writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], tests }))
    try {
      execFileSync(PROMTOOL, ['test', 'rules', file])
    } finally {
      await folder.remove()
    }
  })

  it('pass the checks of promtool, as a scrape does', function () {
    if (!hasPromtool) return this.skip()
    execFileSync(PROMTOOL, ['check', 'rules', ALERTS])
    const ours = scrape.split('\n').filter((line) => /^(?:# (?:HELP|TYPE) )?parley_/.test(line))
    const problems = execFileSync(PROMTOOL, ['check', 'metrics'], { input: `${ours.join('\n')}\n`, encoding: 'utf8' })
    expect(problems).to.equal('')
  })
})
