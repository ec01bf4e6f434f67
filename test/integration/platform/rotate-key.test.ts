import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { SYSTEM_COLUMNS, TENANT_COLUMNS } from '../../../src/cli/sealed-columns.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { Secrets } from '../../../src/platform/security/secrets.ts'
import { computeTotp, toStep } from '../../../src/platform/security/totp.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildChannel, buildCredential, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { newAddress, startTestApp } from '../../support/app.ts'
import { ROOT } from '../../support/documents.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { verify } from '../../support/webhook-receiver.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const OLD = 'ab'.repeat(32)
const NEW = 'cd'.repeat(32)
const OTHER = 'ef'.repeat(32)
const TOOL = {
  name: 'shop.quote',
  title: 'Get a quote',
  description: 'Asks the shop for a price.',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object' },
  effect: 'read',
}

type Result = { code: number; stdout: string; stderr: string }

function parley(args: string[], env: Record<string, string>): Promise<Result> {
  const program = ['--import', 'tsx', join(ROOT, 'src/cli/parley.ts'), ...args]
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, ...env } }
    execFile(process.execPath, program, options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })
}

const SEALED_COLUMNS = [...TENANT_COLUMNS, ...SYSTEM_COLUMNS].map(({ table, column }) => `${table}.${column}`)

describe('parley rotate-key', function () {
  this.timeout(180_000)
  let database: TestDatabase
  let receiver: ScriptedServer
  let workspace: WorkspaceClient
  let folder: TempDir
  const running: ParleyProcess[] = []
  /** Secrets that were created with the old key. */
  const made = { credentialId: '', endpointSecret: '', webhook: { path: '', secret: '' }, totpSecret: '' }

  before(async () => {
    folder = createTempDir()
    receiver = await ScriptedServer.start()
    receiver.replyWith(json({}, 500))
    database = await cloneDatabase((url) => migrate(url, createLogger('silent')).then(() => undefined))
    const settings = { DATABASE_URL: database.url, SECRET_KEY: OLD, ALLOW_LOOPBACK_CHANNELS: 'true' }
    const app = await startTestApp(settings, systemClock)
    try {
      workspace = await buildWorkspace(app)
      await createSecrets()
      await waitUntil(async () => (await countSealed('webhook_bodies', 'body')) > 0)
    } finally {
      await app.stop()
    }
  })

  after(async () => {
    for (const each of running) await each.kill()
    await receiver.stop()
    await database.drop()
    await folder.remove()
  })

  /** Creates a secret of each kind through the API. The delivery of an event fails, so its body is kept. */
  async function createSecrets(): Promise<void> {
    await buildChannel(workspace)
    made.credentialId = (await buildCredential(workspace)).id
    const config = { method: 'GET', url: `${receiver.url}/tool`, headers: { 'X-Shop': 'secret-of-the-tool' } }
    await workspace.call('POST', '/api/tools', { ...TOOL, config })
    const provider = { baseUrl: 'https://ai.example.com/v1', model: 'small', apiKey: 'key-of-the-provider' }
    await workspace.call('PUT', '/api/ai-provider', provider)
    const triggers = [{ type: 'webhook' }]
    const { id } = await buildWorkflow(workspace, { triggers, steps: [] })
    const rotated = await workspace.call('POST', `/api/workflows/${id}/webhook/rotate-secret`, {})
    made.webhook = { path: rotated.webhookPath, secret: rotated.secret }
    const endpoint = await workspace.call('POST', '/api/webhook-endpoints', { url: `${receiver.url}/events` })
    made.endpointSecret = endpoint.secret
    await workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/rotate-secret`, {})
    const { password } = workspace
    const { totpURI } = await workspace.call('POST', '/api/auth/two-factor/enable', { password })
    made.totpSecret = new URL(totpURI).searchParams.get('secret') ?? ''
    await workspace.call('POST', '/api/contacts', { name: 'Ana', phone: newPhone() })
  }

  async function countSealed(table: string, column: string, key?: string): Promise<number> {
    const header = key === undefined ? Buffer.alloc(0) : new Secrets([key]).header
    const rows = await withClient(database.url, (client) =>
      client.query<{ n: number }>(
        `select count(*)::int as n from ${table} where octet_length(${column}) > 0 and substring(${column} from 1 for ${header.length}) = $1`,
        [header],
      ),
    )
    return rows.rows[0]?.n ?? 0
  }

  async function start(environment: Record<string, string>): Promise<string> {
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, ALLOW_LOOPBACK_CHANNELS: 'true' }
    const proxies = { TRUSTED_PROXIES: '127.0.0.1/32' }
    const started = await startParleyProcess({ ...settings, ...proxies, ...environment })
    running.push(started)
    return started.url ?? ''
  }

  async function call(url: string, method: string, path: string, body?: object) {
    const headers = {
      'content-type': 'application/json',
      cookie: workspace.cookie,
      'x-tenant-id': workspace.tenantId,
      'x-forwarded-for': newAddress(),
    }
    const response = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    const text = await response.text()
    expect(response.ok, `${method} ${path} ${response.status} ${text}`).to.equal(true)
    return text === '' ? {} : JSON.parse(text)
  }

  const rotate = (keys: Record<string, string>, ...args: string[]) =>
    parley(['rotate-key', ...args], { DATABASE_URL: database.url, SECRET_KEY: '', ...keys })

  it('every column that may contain a sealed value is known', async () => {
    const { rows } = await withClient(database.url, (client) =>
      client.query<{ name: string }>(
        `select table_name || '.' || column_name as name from information_schema.columns
         where table_schema = 'public' and data_type = 'bytea' order by 1`,
      ),
    )
    const isHash = /(?:hash|digest)$/
    const known = ['channel_webhooks.body', 'throttle_windows.key']
    const columns = rows.map(({ name }) => name).filter((name) => !isHash.test(name) && !known.includes(name))
    expect(columns).to.have.members(SEALED_COLUMNS)
  })

  it('encrypts every secret with the new key while processes change them, after which the old key may be removed', async () => {
    for (const name of SEALED_COLUMNS) {
      const [table = '', column = ''] = name.split('.')
      expect(await countSealed(table, column, OLD), name).to.be.greaterThan(0)
    }
    const rolling = await start({ SECRET_KEY: '', SECRET_KEYS: `${NEW},${OLD}` })
    const path = `/api/credentials/${made.credentialId}`
    let isRotating = true
    let changes = 0
    const change = async () => {
      for (; isRotating; changes += 1) {
        await call(rolling, 'PATCH', path, { secret: `secret-number-${changes}-of-the-traffic` })
        await call(rolling, 'POST', '/api/contacts', { name: 'Ana', phone: newPhone() })
      }
    }
    const rotating = rotate({ SECRET_KEYS: `${NEW},${OLD}` }, '--json').finally(() => (isRotating = false))
    const [rotated] = await Promise.all([rotating, change()])
    expect([rotated.code, rotated.stderr]).to.deep.equal([0, ''])
    const { tables, isComplete } = JSON.parse(rotated.stdout)
    expect(isComplete).to.equal(true)
    expect(tables).to.deep.include({
      channels: { resealed: 1, unreadable: 0 },
      webhook_endpoints: { resealed: 2, unreadable: 0 },
      two_factors: { resealed: 1, unreadable: 0 },
    })
    expect(changes).to.be.greaterThan(0)
    for (const name of SEALED_COLUMNS) {
      const [table = '', column = ''] = name.split('.')
      expect(await countSealed(table, column, OLD), name).to.equal(0)
      expect(await countSealed(table, column, NEW), name).to.be.greaterThan(0)
    }
    const shown = await call(rolling, 'GET', path)
    expect(`secret-number-${changes - 1}-of-the-traffic`).to.match(new RegExp(`${shown.lastFour}$`))
  })

  it('processes with only the new key use each secret', async () => {
    for (const each of running.splice(0)) await each.kill()
    receiver.replyWith(json({}))
    const url = await start({ SECRET_KEY: NEW })
    const code = computeTotp(made.totpSecret, toStep(new Date()))
    await call(url, 'POST', '/api/auth/two-factor/verify-totp', { code })
    const { items } = await call(url, 'GET', '/api/webhook-endpoints')
    await call(url, 'POST', `/api/webhook-endpoints/${items[0].id}/test`, {})
    await waitUntil(() => receiver.calls.some(({ url: path }) => path === '/events'))
    const delivered = receiver.calls.find(({ url: path }) => path === '/events')
    verify({ headers: delivered?.headers ?? {}, body: delivered?.body ?? '' }, made.endpointSecret)
    const seconds = Math.floor(Date.now() / 1000)
    const signature = createHmac('sha256', made.webhook.secret).update(`${seconds}.{}`).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-parley-signature': `t=${seconds},v1=${signature}` }
    const answered = await fetch(url + made.webhook.path, { method: 'POST', headers, body: '{}' })
    expect(answered.status, await answered.text()).to.equal(202)
    const repeated = await rotate({ SECRET_KEY: NEW })
    expect([repeated.code, repeated.stdout]).to.satisfy(
      ([exitCode, text]: [number, string]) => exitCode === 0 && text.includes('Everything is encrypted with the first'),
    )
  })

  it('a missing key is named by the command, which changes nothing and exits with 1', async () => {
    for (const each of running.splice(0)) await each.kill()
    const { code, stdout } = await rotate({ SECRET_KEYS: `${OTHER},${OLD}` })
    expect(code).to.equal(1)
    expect(stdout).to.match(/^channels: 0 encrypted again, 1 unreadable$/m)
    expect(stdout).to.include(
      'What is unreadable was encrypted with a key that is not in SECRET_KEYS. Add it, or enter the secrets again.',
    )
    expect(await countSealed('channels', 'credentials', NEW)).to.equal(1)
  })

  it('replaces the generated key of an embedded database while Parley is stopped, and goes on after an interruption', async () => {
    const data = createTempDir()
    const environment = { DATABASE_URL: '', SECRET_KEY: '', DATA_DIR: data.path, MIGRATE_ON_START: 'true' }
    const path = join(data.path, 'secret-key')
    const started = await startParleyProcess(environment)
    try {
      const first = readFileSync(path, 'utf8')
      const refused = await parley(['rotate-key'], environment)
      expect([refused.code, refused.stderr]).to.deep.equal([
        1,
        `Parley uses ${data.path}. Stop it first: its processes do not know the new key, which replaces the one in this folder\n`,
      ])
      await started.kill()
      const rotated = await parley(['rotate-key'], environment)
      expect(rotated.stdout, rotated.stderr).to.include('the old one was removed from the file secret-key')
      const second = readFileSync(path, 'utf8')
      expect(second)
        .to.match(/^[0-9a-f]{64}$/)
        .and.to.not.equal(first)
      expect(existsSync(`${path}.partial`)).to.equal(false)
      // So an interrupted call leaves it.
      writeFileSync(path, `${OTHER},${second}`)
      const repeated = await parley(['rotate-key'], environment)
      expect([repeated.code, readFileSync(path, 'utf8')]).to.deep.equal([0, OTHER])
    } finally {
      await started.kill()
      await data.remove()
    }
  })
})
