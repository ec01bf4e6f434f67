import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { DEMO } from '../../../seeds/demo/ids.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { Checkout } from '../../support/checkout.ts'
import { cloneDatabase } from '../../support/postgres.ts'

const SOURCE = ['--import', 'tsx', 'src/main.ts']
const COMPILED = ['dist/main.js']
const OWNER = { email: DEMO.email, password: DEMO.password }

type Server = Awaited<ReturnType<Checkout['serve']>>

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

function findUrl({ output }: Server): string {
  return /listening on (http:\/\/[\w.:]+)/.exec(output.stdout)?.[1] ?? ''
}

async function stop({ child, ended }: Server): Promise<void> {
  child.kill('SIGTERM')
  expect((await ended).code).to.equal(0)
}

describe('npm run build', function () {
  this.timeout(300_000)
  let checkout: Checkout

  before(async () => {
    checkout = new Checkout()
    mkdirSync(join(checkout.path, 'dist/migrations'), { recursive: true })
    writeFileSync(join(checkout.path, 'dist/migrations/20200101000000_leftover.js'), 'throw new Error("leftover")')
    const { code, stdout, stderr } = await checkout.run('npm', ['run', 'build'])
    expect(code, stdout + stderr).to.equal(0)
  })

  after(() => checkout.remove())

  /** Signs in as the owner of the demo workspace and uses the database and a compute thread. */
  async function useDemoWorkspace(server: Server): Promise<void> {
    const url = findUrl(server)
    const signIn = await post(`${url}/api/auth/sign-in/email`, OWNER)
    expect(signIn.status).to.equal(200)
    const cookie = signIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const headers = { cookie, 'x-tenant-id': DEMO.workspaceId }
    const contacts = await fetch(`${url}/api/contacts?q=Mendes`, { headers })
    expect(await contacts.json()).to.have.nested.property('items[0].name')
    const definition = { triggers: [{ type: 'message_received' }], steps: [{ id: 'a', type: 'send_text', body: 'Hi' }] }
    const validation = await post(`${url}/api/workflows/validate`, { definition }, headers)
    expect(await validation.json()).to.have.property('valid')
  }

  /** Reads the documentation, which shows the demo account of an embedded database. */
  async function readDocumentation(server: Server): Promise<void> {
    const url = findUrl(server)
    const reference = await (await fetch(`${url}/docs`)).text()
    expect(reference).to.include(`value="${DEMO.email}"`)
    const assets = [...reference.matchAll(/(?:href|src)="(\/docs\/assets\/[^"]+)"/g)].map(([, path]) => path)
    expect(assets.length).to.equal(2)
    for (const path of [...assets, '/docs/tutorial', '/docs/adr'])
      expect((await fetch(`${url}${path}`)).status, path).to.equal(200)
  }

  it('removes the output of earlier builds', () => {
    expect(existsSync(join(checkout.path, 'dist/migrations/20200101000000_leftover.js'))).to.equal(false)
  })

  it('has the seed kit as parley/seed', async () => {
    const program = `import { SCENARIOS } from 'parley/seed'; process.stdout.write(SCENARIOS.join())`
    const { stdout, stderr } = await checkout.run('node', ['--input-type=module', '-e', program])
    expect([stdout, stderr]).to.deep.equal(['clinic,shop,school', ''])
  })

  it('a database created by the compiled start works with the source start, and the reverse', async () => {
    for (const [first, second] of [
      [COMPILED, SOURCE],
      [SOURCE, COMPILED],
    ]) {
      for (const program of [first, second]) {
        const server = await checkout.serve('node', program ?? [])
        await useDemoWorkspace(server)
        await readDocumentation(server)
        await stop(server)
        expect(server.output.stderr).to.equal('')
      }
      rmSync(join(checkout.path, '.parley'), { recursive: true })
    }
  })

  it('the compiled start works with the database of DATABASE_URL, empty or migrated from source', async () => {
    const empty = await cloneDatabase(() => Promise.resolve())
    const migrated = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    for (const database of [empty, migrated]) {
      const server = await checkout.serve('node', COMPILED, {
        DATABASE_URL: database.url,
        MIGRATE_ON_START: String(database === empty),
        SECRET_KEY: 'ab'.repeat(32),
      })
      const account = { name: 'Ada', email: 'ada@parley.example', password: 'correct horse battery' }
      expect((await post(`${findUrl(server)}/api/auth/sign-up/email`, account)).status).to.equal(200)
      await stop(server)
      await database.drop()
    }
  })
})
