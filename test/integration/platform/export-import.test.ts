import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { listTables } from '../../../src/platform/transfer/export-database.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp } from '../../support/app.ts'
import { DebianPostgres, isDebianPostgresMissing } from '../../support/debian-postgres.ts'
import { ROOT } from '../../support/documents.ts'
import { queryRow } from '../../support/embedded-clusters.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'
import { listMessages } from '../../support/queries.ts'
import { say } from '../../support/steps.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const run = promisify(execFile)

type Outcome = { code: number; stdout: string; stderr: string }

/** The number of rows and a hash of all rows, by table. */
async function readTables(url: string): Promise<Record<string, string>> {
  return withClient(url, async (client) => {
    const entries: [string, string][] = []
    for (const { name } of await listTables(client)) {
      const { rows } = await client.query<{ hash: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as hash from ${name} t`,
      )
      entries.push([name, rows[0]?.hash ?? ''])
    }
    return Object.fromEntries(entries)
  })
}

describe('npm run export and npm run import', function () {
  this.timeout(180_000)
  let source: TestDatabase
  let lastEventId: string
  let workspace: WorkspaceClient
  let target: TestDatabase
  let debian: DebianPostgres | undefined
  let folder: TempDir
  let file: string

  before(async () => {
    folder = createTempDir()
    file = join(folder.path, 'parley.export')
    source = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    target = await cloneDatabase(() => Promise.resolve())
    const app = await startTestApp({ DATABASE_URL: source.url })
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
    await buildContact(workspace, { name: 'a\\.\n\\.\nb\t\\N' })
    for (let message = 0; message < 5; message += 1) await sendAsCustomer(workspace)
    await app.work()
    const stream = await openEventStream(app.url, workspace, { procedure: 'events.follow', input: {} })
    stream.close()
    lastEventId = stream.initialId
    // Nothing changes the database any more.
    await app.stop()
  })

  after(async () => {
    await source.drop()
    await target.drop()
    await folder.remove()
    await debian?.stop()
  })

  function npmRun(script: string, url: string, ...args: string[]): Promise<Outcome> {
    return npmRunWith({ DATABASE_URL: url, SECRET_KEY: 'ab'.repeat(32) }, script, ...args)
  }

  async function npmRunWith(environment: NodeJS.ProcessEnv, script: string, ...args: string[]): Promise<Outcome> {
    const env = { ...process.env, ...environment }
    const command = run('npm', ['run', '--silent', script, '--', ...args], { cwd: ROOT, env })
    return command.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: Outcome) => error,
    )
  }

  it('copy all rows of all tables, after which messages are answered and followers resume where they were', async () => {
    const exported = await npmRun('export', source.url, file)
    expect(exported.stdout, exported.stderr).to.match(/^Exported \d+ rows to /)
    const cut = join(folder.path, 'cut.export')
    writeFileSync(cut, readFileSync(file).subarray(0, -200))
    const incomplete = await npmRun('import', target.url, cut)
    expect([incomplete.code, incomplete.stderr]).to.deep.equal([
      1,
      'The file is not a complete export of Parley. Make the export again\n',
    ])

    const imported = await npmRun('import', target.url, file)
    expect(imported.stdout, imported.stderr).to.match(/^Imported \d+ rows\. Start Parley with the SECRET_KEY/)
    expect(await readTables(target.url)).to.deep.equal(await readTables(source.url))

    const restored = await startTestApp({ DATABASE_URL: target.url })
    try {
      const session = new WorkspaceClient(restored, workspace)
      const stream = await openEventStream<{ event: { type: string } }>(restored.url, session, {
        procedure: 'events.follow',
        input: {},
        lastEventId,
      })
      const { conversationId } = await sendAsCustomer(session)
      await restored.work()
      const messages = await listMessages(session, conversationId)
      expect(messages.map(({ direction }: { direction: string }) => direction)).to.have.members(['inbound', 'outbound'])
      expect((await stream.next()).data.event.type).to.equal('contact.created')
      stream.close()
    } finally {
      await restored.stop()
    }
  })

  const title = 'copy all rows to a server of another major version, which is used meanwhile, and back'
  if (isDebianPostgresMissing()) it.skip(`${title} (not run: Debian's postgresql is not installed)`)
  else
    it(title, async () => {
      debian = await DebianPostgres.start()
      const { url: older } = debian
      const major = 'select current_setting($$server_version_num$$)::int / 10000 as major'
      expect(await queryRow(older, major)).to.not.deep.equal(await queryRow(source.url, major))
      await copy(source.url, older)
      expect(await readTables(older)).to.deep.equal(await readTables(source.url))

      const app = await startTestApp({ DATABASE_URL: older })
      try {
        await sendAsCustomer(new WorkspaceClient(app, workspace))
        await app.work()
      } finally {
        await app.stop()
      }
      const back = await cloneDatabase(() => Promise.resolve())
      await copy(older, back.url)
      expect(await readTables(back.url)).to.deep.equal(await readTables(older))
      await back.drop()
    })

  async function copy(from: string, to: string): Promise<void> {
    const between = join(folder.path, 'between.export')
    const exported = await npmRun('export', from, between)
    expect(exported.code, exported.stderr).to.equal(0)
    const imported = await npmRun('import', to, between)
    expect(imported.code, imported.stderr).to.equal(0)
  }

  it('refuse a database with rows, a file of something else and a missing name', async () => {
    const filled = await npmRun('import', source.url, file)
    expect(filled.stderr).to.match(/^The database has rows in \w+\. Import into an empty database/)
    const other = await npmRun('import', target.url, join(ROOT, 'package.json'))
    expect(other.stderr).to.match(/^The (?:file is not|database has rows)/)
    const unnamed = await npmRun('export', source.url)
    expect(unnamed.stderr).to.match(/^The argument <file> is missing\n\nUsage: npm run export -- <file>/)
    expect([filled.code, other.code, unnamed.code]).to.deep.equal([1, 1, 2])
  })

  it('name a file that cannot be opened, and a folder, without a stack', async () => {
    const missing = join(folder.path, 'missing', 'parley.export')
    const exported = await npmRun('export', source.url, missing)
    expect(exported.stderr).to.equal(
      `The file cannot be opened: ENOENT: no such file or directory, open '${missing}.partial'. Name another one\n`,
    )
    const imported = await npmRun('import', target.url, missing)
    expect(imported.stderr).to.equal(
      `The file cannot be opened: ENOENT: no such file or directory, open '${missing}'. Name another one\n`,
    )
    const intoFolder = await npmRun('export', source.url, folder.path)
    expect(intoFolder.stderr).to.equal(`${folder.path} is a folder. Name a file in it\n`)
    expect([exported.code, imported.code, intoFolder.code]).to.deep.equal([1, 1, 1])
  })

  it('import nothing into an embedded database on a disk with too little free space', async () => {
    const environment = { DATABASE_URL: '', DATA_DIR: join(folder.path, 'data'), DISK_FREE_MIN_MB: '1000000000' }
    const { code, stderr } = await npmRunWith(environment, 'import', file)
    expect([code, stderr]).to.deep.equal([
      1,
      `The disk of ${environment.DATA_DIR} has too little free space. Make room, or choose with DISK_FREE_MIN_MB how much is kept free\n`,
    ])
    expect(existsSync(environment.DATA_DIR)).to.equal(false)
  })
})
