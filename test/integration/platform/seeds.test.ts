import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type pg from 'pg'
import { DEMO } from '../../../seeds/demo/ids.ts'
import { openDatabase, seedIfEmpty, SEEDS } from '../../../src/platform/database/database.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { startEmbeddedPostgres } from '../../../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { Checkout } from '../../support/checkout.ts'
import { readDocument } from '../../support/documents.ts'
import { cloneDatabase } from '../../support/postgres.ts'
import { errorMessage } from '../../support/error-message.ts'
import { listCommands, ShellSession } from '../../support/shell-session.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const MAIN = ['--import', 'tsx', 'src/main.ts']

/** Writes rows of its own and, through the application, a workflow, before it fails. */
const FAILING_SEED = `
import type { Knex } from 'knex'
import { seedWorkspace } from '../src/seed/index.ts'

export async function seed(knex: Knex): Promise<void> {
  await seedWorkspace(knex, { key: 'failing', name: 'Seeded' }, async (workspace) => {
    await workspace.tx('groups').insert({ tenant_id: workspace.id, name: 'Seeded' })
    await workspace.workflow({ version: 1, triggers: [{ type: 'message_received' }], steps: [] }, { name: 'Seeded' })
    throw new Error('the seed fails')
  })
}
`

/** Runs after the seed of the demo workspace and does not end by itself. */
const WAITING_SEED = `
export async function seed(): Promise<void> {
  process.stdout.write('the demo workspace is inserted')
  await new Promise(() => {})
}
`

describe('seeds', function () {
  this.timeout(300_000)
  let checkout: Checkout

  beforeEach(() => {
    checkout = new Checkout()
  })

  afterEach(() => checkout.remove())

  /** Starts the embedded database of the checkout and migrates it without seeding it. */
  async function withServer(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const server = await startEmbeddedPostgres({ dataDir: join(checkout.path, '.parley') })
    try {
      await migrate(server.connectionString, createLogger('silent'))
      await withClient(server.connectionString, work)
    } finally {
      await server.stop()
    }
  }

  it('a seed that throws leaves neither its own rows nor those which the application wrote for it', async () => {
    await withServer(async (client) => {
      expect((await checkout.run('npm', ['run', 'seed'])).code).to.equal(0)
      writeFileSync(join(checkout.path, 'seeds/failing.ts'), FAILING_SEED)
      const { code, stdout, stderr } = await checkout.run('npm', ['run', 'seed'])
      expect(code).to.equal(1)
      expect(stdout + stderr).to.include('the seed fails')
      const { rows } = await client.query(
        `select name from groups where name = 'Seeded' union all select name from workflows where name = 'Seeded'
           union all select name from workspaces where name = 'Seeded' union all select name from users where name ~ 'Seeded'`,
      )
      expect(rows).to.deep.equal([])
    })
  })

  const reset = (args: string[] = [], env: NodeJS.ProcessEnv = {}) =>
    checkout.run('npm', ['run', '--silent', 'seed:reset', '--', ...args], env)

  it('npm run seed:reset creates the workspaces of seeds again, also that of a scenario, and keeps the others', async () => {
    await withServer(async (client) => {
      expect((await checkout.run('npm', ['run', 'seed'])).code).to.equal(0)
      await client.query(`insert into workspaces (name) values ('Kept')`)
      await client.query(`update contacts set name = 'Renamed' where tenant_id = $1`, [DEMO.workspaceId])
      const refused = await reset()
      expect([refused.code, refused.stdout, refused.stderr]).to.deep.equal([
        1,
        '',
        `The process ${process.pid} uses the database. Stop it first\n`,
      ])
    })
    const { code, stdout, stderr } = await reset(['--scenario', 'clinic', '--contacts', '1000'])
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.match(
      /^Database "parley" at .+\nWorkspaces to delete: "Casa Verde"\nDeleted 1 workspace and executed the seeds\.\n$/,
    )
    await withServer(async (client) => {
      const { rows } = await client.query(
        `select w.name, count(c.id)::int as contacts, count(c.id) filter (where c.name = 'Renamed')::int as renamed
         from workspaces w left join contacts c on c.tenant_id = w.id group by w.id order by w.name`,
      )
      expect(rows).to.deep.equal([
        { name: 'Casa Verde', contacts: 40, renamed: 0 },
        { name: 'Clínica Sol', contacts: 1006, renamed: 0 },
        { name: 'Kept', contacts: 0, renamed: 0 },
      ])
    })
    expect((await reset()).stdout).to.include('Workspaces to delete: "Casa Verde", "Clínica Sol"\nDeleted 2 workspaces')
  })

  it('npm run seed:reset changes another database only by its name, and while no process of Parley uses it', async () => {
    const database = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'ab'.repeat(32) }
    const { pathname, host } = new URL(database.url)
    const name = pathname.slice(1)
    const db = openDatabase(database.url)
    await db('workspaces').insert({ id: DEMO.workspaceId, name: 'In use' })
    for (const args of [[], ['--database', 'parley']]) {
      const { code, stdout, stderr } = await reset(args, env)
      expect([code, stdout]).to.deep.equal([1, ''])
      expect(stderr).to.equal(
        `The settings name the database "${name}" at ${host}. ` +
          `Add "--database ${name}" if the workspaces of seeds in it are to be deleted\n`,
      )
    }
    // Its session ends after 30 idle seconds, which the commands before take on a busy machine.
    await db('workspaces').first()
    const used = await reset(['--database', name], env)
    expect([used.code, used.stdout]).to.deep.equal([1, ''])
    expect(used.stderr).to.match(/^Another process of Parley uses .+ "parley"\. Stop it first\n$/)
    expect(await db('workspaces').select('name')).to.deep.equal([{ name: 'In use' }])
    await db.destroy()
    const { code, stdout } = await reset(['--database', name], env)
    expect([code, stdout]).to.deep.equal([
      0,
      `Database "${name}" at ${host}\nWorkspaces to delete: "In use"\nDeleted 1 workspace and executed the seeds.\n`,
    ])
    await database.drop()
  })

  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    it(`a first start that ends by ${signal} while it seeds is completed by the next one`, async () => {
      const waiting = join(checkout.path, 'seeds/zy_waiting.ts')
      writeFileSync(waiting, WAITING_SEED)
      const interrupted = checkout.start('node', MAIN)
      await waitUntil(() => interrupted.output.stdout.includes('the demo workspace is inserted'), 60 * SECOND)
      interrupted.child.kill(signal)
      await interrupted.ended
      expect(checkout.hasRunningServer).to.equal(signal === 'SIGKILL')
      rmSync(waiting)
      const { child, ended, output } = await checkout.serve('node', MAIN)
      await runReadme(/listening on (http:[\w.:/]+)/.exec(output.stdout)?.[1] ?? '')
      child.kill('SIGTERM')
      expect((await ended).code).to.equal(0)
      expect(checkout.hasRunningServer).to.equal(false)
    })
  }

  async function runReadme(url: string): Promise<void> {
    const session = new ShellSession({ cwd: checkout.path, replacements: [['http://localhost:3000', url]] })
    try {
      for (const { language, text } of readDocument('README.md').blocks) {
        if (language === 'console') for (const command of listCommands(text)) await session.run(command)
      }
    } finally {
      await session.close()
    }
  }

  it('seeds of a first start may compute for a minute between statements, as on a busy machine', async () => {
    const database = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    const db = openDatabase(database.url)
    const folder = createTempDir()
    writeFileSync(
      join(folder.path, 'silent.ts'),
      `export async function seed(knex) {
        const { rows } = await knex.raw('show idle_in_transaction_session_timeout')
        throw new Error(rows[0].idle_in_transaction_session_timeout)
      }`,
    )
    expect(await errorMessage(seedIfEmpty(db, { ...SEEDS, directory: folder.path }))).to.match(/: 1min$/)
    await db.destroy()
    await database.drop()
    await folder.remove()
  })

  it('processes that start at once on an empty database seed it once', async () => {
    const database = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    const db = openDatabase(database.url)
    await Promise.all([seedIfEmpty(db), seedIfEmpty(db), seedIfEmpty(db)])
    const owners = await db('memberships').where({ workspace_id: DEMO.workspaceId })
    expect(owners).to.have.length(1)
    await db.destroy()
    await database.drop()
  })
})
