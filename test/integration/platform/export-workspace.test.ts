import { execFile } from 'node:child_process'
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createGunzip, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { hashToken, newToken } from '../../../src/platform/security/tokens.ts'
import { addMs, HOUR } from '../../../src/platform/time.ts'
import {
  buildChannel,
  buildContact,
  buildMember,
  buildWorkflow,
  buildWorkspace,
  sendAsCustomer,
} from '../../factories.ts'
import { readSessionCookie, startTestApp, type TestApp } from '../../support/app.ts'
import { ROOT } from '../../support/documents.ts'
import { listMessages } from '../../support/queries.ts'
import { say } from '../../support/steps.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const SOURCE_KEY = 'ab'.repeat(32)
const TARGET_KEY = 'cd'.repeat(32)
const PASSWORD = 'another correct horse'

/** Tables with rows of workspaces that are not exported. */
const LEFT_OUT = ['invitations', 'kept_count_deltas', 'kept_counts', 'wakeups', 'workspace_deletions']

type Result = { code: number; stdout: Buffer; stderr: string }

function run(program: string[], env: Record<string, string>): Promise<Result> {
  const options = { cwd: ROOT, env: { ...process.env, ...env }, encoding: 'buffer' as const, maxBuffer: 64 * 1024 ** 2 }
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', ...program], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr: stderr.toString() }),
    )
  })
}

const exportOf = (url: string, workspaceId: string) =>
  run(['src/cli/parley.ts', 'export', '--workspace', workspaceId], { DATABASE_URL: url, SECRET_KEY: SOURCE_KEY })
const importInto = (url: string, file: string) =>
  run(['scripts/import.ts', file], { DATABASE_URL: url, SECRET_KEY: TARGET_KEY })

/** The number of rows and a hash of those of a workspace, by table. */
async function readRows(url: string, tenantId: string): Promise<Record<string, string>> {
  return withClient(url, async (client) => {
    const { rows: columns } = await client.query<{ table: string; column: string }>(
      `select table_name as table, column_name as column from information_schema.columns
       where table_schema = 'public' and column_name = 'tenant_id' order by 1`,
    )
    const hashes: [string, string][] = []
    for (const { table, column } of columns.filter((each) => !LEFT_OUT.includes(each.table))) {
      const { rows } = await client.query<{ hash: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as hash
         from ${table} t where ${column} = $1`,
        [tenantId],
      )
      hashes.push([table, rows[0]?.hash ?? ''])
    }
    return Object.fromEntries(hashes)
  })
}

describe('parley export', function () {
  this.timeout(240_000)
  let source: TestApp
  let owner: WorkspaceClient
  let agentEmail: string
  let folder: TempDir
  let file: string
  let rows: Record<string, string>

  before(async () => {
    folder = createTempDir()
    file = join(folder.path, 'workspace.export')
    source = await startTestApp({ SECRET_KEY: SOURCE_KEY })
    owner = await buildWorkspace(source, 'Casa Verde')
    agentEmail = (await buildMember(owner, 'agent')).email
    await fill(owner)
    await fill(await buildWorkspace(source, 'Another'))
    await source.work()
    const exported = await exportOf(source.databaseUrl, owner.tenantId)
    expect(exported.stderr).to.match(/^Exported \d+ rows\. /)
    writeFileSync(file, exported.stdout)
    rows = await readRows(source.databaseUrl, owner.tenantId)
  })

  after(async () => {
    await source.stop()
    await folder.remove()
  })

  async function fill(workspace: WorkspaceClient): Promise<void> {
    await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
    await buildChannel(workspace)
    await buildContact(workspace, { name: 'a\\.\n\\.\nb\t\\N' })
    await sendAsCustomer(workspace)
  }

  /** Imports into a database that `prepare` has filled, and starts Parley on it. */
  async function withImported(
    prepare: (app: TestApp) => Promise<void>,
    verify: (app: TestApp, imported: Result) => Promise<void>,
  ): Promise<void> {
    const app = await startTestApp({ SECRET_KEY: '', SECRET_KEYS: `${TARGET_KEY},${SOURCE_KEY}` })
    try {
      await prepare(app)
      await verify(app, await importInto(app.databaseUrl, file))
    } finally {
      await app.stop()
    }
  }

  /** Signs in as the owner, whose exported account has no password until it is reset. */
  async function signInAsOwner(app: TestApp): Promise<WorkspaceClient> {
    const { email } = owner
    const { id } = await app.system.db('users').where({ email }).first('id')
    const token = newToken()
    const now = app.clock.now()
    const reset = { token_hash: hashToken(token), user_id: id, created_at: now, expires_at: addMs(now, HOUR) }
    const signIn = (password: string) => app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    expect((await signIn(owner.password)).status).to.equal(401)
    await app.system.db('password_resets').insert(reset)
    await app.rest('POST', '/api/auth/reset-password', { body: { token, newPassword: PASSWORD } })
    const signedIn = await signIn(PASSWORD)
    expect(signedIn.status).to.equal(200)
    const session = { ...owner, cookie: readSessionCookie(signedIn), userId: String(id), password: PASSWORD }
    return new WorkspaceClient(app, session)
  }

  it('contains the rows of each table with rows of workspaces, and of no other workspace', async () => {
    const lines = (await text(createReadStream(file).pipe(createGunzip()))).split('\n')
    const exported = lines.filter((line) => line.startsWith('{"table":')).map((line) => JSON.parse(line).table)
    const tables = await withClient(source.databaseUrl, (client) =>
      client.query<{ name: string }>(
        `select distinct table_name as name from information_schema.columns
         where table_schema = 'public' and column_name in ('tenant_id', 'workspace_id')`,
      ),
    )
    const expected = tables.rows.map(({ name }) => name).filter((name) => !LEFT_OUT.includes(name))
    expect(exported).to.have.members(['users', 'workspaces', ...expected])
    expect(lines.join('\n')).to.not.include('Another')
    expect(lines.join('\n')).to.not.include('$argon2')
  })

  it('is imported into an empty installation with all rows, and works there after the password was reset', () =>
    withImported(
      () => Promise.resolve(),
      async (app, imported) => {
        expect(imported.stdout.toString(), imported.stderr).to.match(/with 2 members; 0 others/)
        expect(await readRows(app.databaseUrl, owner.tenantId)).to.deep.equal(rows)
        const session = await signInAsOwner(app)
        expect((await session.call('GET', '/api/contacts')).total).to.equal(2)
        const { conversationId } = await sendAsCustomer(session)
        await app.work()
        const messages = await listMessages(session, conversationId)
        expect(messages.map(({ direction }: { direction: string }) => direction)).to.have.members([
          'inbound',
          'outbound',
        ])
        expect((await session.call('GET', '/api/members')).items).to.have.length(2)
        const { items } = await session.call('GET', '/api/channels')
        const channel = items.find(({ type }: { type: string }) => type === 'whatsapp')
        await session.call('PATCH', `/api/channels/${channel.id}`, { accessToken: 'another-token' })
      },
    ))

  it('is imported beside other workspaces, whose rows stay, and gives nobody access by an unverified address', () => {
    let other: WorkspaceClient
    let before: Record<string, string>
    return withImported(
      async (app) => {
        other = await buildWorkspace(app, 'Here before')
        await fill(other)
        await app.work()
        const account = { name: 'Somebody', email_verified: false, created_at: new Date(), updated_at: new Date() }
        await app.system.db('users').insert({ ...account, id: other.tenantId, email: agentEmail })
        before = await readRows(app.databaseUrl, other.tenantId)
      },
      async (app, imported) => {
        expect(imported.stdout.toString(), imported.stderr).to.match(/with 1 members; 1 others/)
        expect(await readRows(app.databaseUrl, owner.tenantId)).to.deep.equal(rows)
        expect(await readRows(app.databaseUrl, other.tenantId)).to.deep.equal(before)
        expect((await (await signInAsOwner(app)).call('GET', '/api/contacts')).total).to.equal(2)
        expect((await other.call('GET', '/api/contacts')).total).to.equal(2)
        const again = await importInto(app.databaseUrl, file)
        expect([again.code, again.stderr]).to.deep.equal([
          1,
          `The database has the workspace ${owner.tenantId} already\n`,
        ])
      },
    )
  })

  it('uses a verified account with the same address, and refuses a workspace that would have no owner', () =>
    withImported(
      async (app) => {
        const account = { name: 'Owner', created_at: new Date(), updated_at: new Date() }
        const rival = { ...account, id: owner.tenantId, email: owner.email, email_verified: false }
        await app.system.db('users').insert(rival)
      },
      async (app, refused) => {
        expect([refused.code, refused.stderr]).to.deep.equal([
          1,
          'The address of no owner is that of a verified account here. Let an owner verify the address, then import again\n',
        ])
        expect(await app.system.db('workspaces').where({ id: owner.tenantId })).to.have.length(0)
        await app.system.db('users').where({ id: owner.tenantId }).update({ email_verified: true })
        const imported = await importInto(app.databaseUrl, file)
        expect(imported.code, imported.stderr).to.equal(0)
        const [member] = await app.system.db('memberships').where({ workspace_id: owner.tenantId, role: 'owner' })
        expect(member.user_id).to.equal(owner.tenantId)
      },
    ))

  it('refuses a file with rows of another workspace or of accounts, and leaves everything as it was', async () => {
    const original = (await text(createReadStream(file).pipe(createGunzip()))).split('\n')
    const lineOf = (table: string) => original.findIndex((line) => line.startsWith(`{"table":"${table}"`))
    const app = await startTestApp({ SECRET_KEY: TARGET_KEY })
    const victim = await buildWorkspace(app, 'Victim')
    const replaceRow = (table: string) =>
      original.map((line, index) =>
        index === lineOf(table) + 1 ? line.replaceAll(owner.tenantId, victim.tenantId) : line,
      )
    const addSession = original.flatMap((line) =>
      line.startsWith('{"rows":') ? ['{"table":"sessions","columns":["user_id"]}', victim.userId, '\\.', line] : line,
    )
    const forged = join(folder.path, 'forged.export')
    const message = (table: string) => `The export is forged: ${table} has rows of another workspace\n`
    try {
      for (const [lines, expected] of [
        [replaceRow('contacts'), message('contacts')],
        [replaceRow('memberships'), message('memberships')],
        [replaceRow('workspaces'), message('workspaces')],
        [addSession, /^The export was made by another version/],
      ] as const) {
        writeFileSync(forged, gzipSync(lines.join('\n')))
        const { code, stderr } = await importInto(app.databaseUrl, forged)
        expect(code).to.equal(1)
        if (typeof expected === 'string') expect(stderr).to.equal(expected)
        else expect(stderr).to.match(expected)
        expect(await app.system.db('workspaces').pluck('id')).to.deep.equal([victim.tenantId])
        expect((await victim.call('GET', '/api/members')).items).to.have.length(1)
        expect((await victim.call('GET', '/api/contacts')).total).to.equal(0)
      }
      const { code, stderr } = await importInto(app.databaseUrl, folder.path)
      expect([code, stderr]).to.deep.equal([1, `${folder.path} is a folder. Name a file in it\n`])
    } finally {
      await app.stop()
    }
  })

  it('refuses an unknown workspace and a missing ID, each with a sentence', async () => {
    const unknown = await exportOf(source.databaseUrl, owner.userId)
    expect([unknown.code, unknown.stderr, unknown.stdout.length]).to.deep.equal([
      1,
      `There is no workspace with the ID ${owner.userId}\n`,
      0,
    ])
    const missing = await exportOf(source.databaseUrl, '')
    expect(missing.code).to.equal(2)
    expect(missing.stderr).to.match(/^Pass the ID of the workspace as --workspace\n/)
  })
})
