import { join } from 'node:path'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { createOwnedFolder, DebianPostgres, isDebianPostgresMissing } from '../../support/debian-postgres.ts'
import { Owner } from '../../support/deployment.ts'
import { readDocument } from '../../support/documents.ts'
import { runDoctor, runParley } from '../../support/parley-command.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ANSWERED = 8
const IN_FLIGHT = 4

/** The folder of the backups that docs/operations.md names. */
const DOCUMENTED_FOLDER = '/var/backups/parley'

/** Reads the blocks of a section of docs/operations.md, with another folder of the backups. */
function readBlocks(heading: string, language: string, backups: string): string {
  const { blocks } = readDocument('docs/operations.md')
  const texts = blocks.filter((block) => block.heading === heading && block.language === language)
  expect(texts, heading).to.have.lengthOf(1)
  return (texts[0]?.text ?? '').replaceAll(DOCUMENTED_FOLDER, backups)
}

function readSettings(heading: string, backups: string): Record<string, string> {
  const lines = readBlocks(heading, 'ini', backups).trim().split('\n')
  return Object.fromEntries(lines.map((line) => (/^(\w+) = '?(.*?)'?$/.exec(line) ?? []).slice(1)))
}

/** Names of messages of customers, each of whom writes from an own number. */
const list = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

describe('a restore to a point in time', function () {
  this.timeout(180_000)
  let folder: TempDir
  let primary: DebianPostgres
  let restored: DebianPostgres | undefined
  let cloud: FakeCloudApi
  let parley: ParleyProcess
  let owner: Owner

  before(async function () {
    if (isDebianPostgresMissing()) this.skip()
    folder = createTempDir()
    createOwnedFolder(backups())
    createOwnedFolder(join(backups(), 'wal'))
    primary = await DebianPostgres.start(readSettings('Continuous backups', backups()))
    await migrate(primary.url, createLogger('silent'))
    cloud = await FakeCloudApi.start()
  })

  after(async () => {
    await parley?.kill()
    await cloud?.stop()
    await primary?.stop()
    await restored?.stop()
    await folder?.remove()
  })

  const backups = () => join(folder.path, 'backups')

  const settings = (databaseUrl: string) => ({
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder.path, 'parley'),
    ALLOW_LOOPBACK_CHANNELS: 'true',
    TRUSTED_PROXIES: '127.0.0.1/32',
    PUBLIC_HOSTS: 'parley.example',
  })

  async function start(databaseUrl: string): Promise<void> {
    parley = await startParleyProcess(settings(databaseUrl))
  }

  async function connectChannel(): Promise<string> {
    const url = parley.url ?? ''
    owner = await Owner.signUp(url, 'ada@parley.example')
    await owner.publishAnswer(url, 'Answer to {{message.body}}')
    const channel = { type: 'whatsapp', name: 'Support', ...cloud.settings, ...cloud.credentials }
    const { webhookPath } = await owner.call<{ webhookPath: string }>(url, 'POST', '/api/channels', channel)
    return webhookPath
  }

  /** Lets customers write, and returns when all of their messages are acknowledged. */
  async function write(bodies: string[], suffix = ''): Promise<void> {
    const sent = bodies.map((body, index) =>
      cloud.webhooks.sendText({ from: `4915160${body.charCodeAt(0)}0${index}`, body: body + suffix }),
    )
    for (const { status } of await Promise.all(sent)) expect(status).to.equal(200)
  }

  const query = async <Row extends object>(url: string, sql: string): Promise<Row[]> =>
    withClient(url, async (client) => (await client.query<Row>(sql)).rows)

  /** Waits until workflows have processed everything, and the outbox has this number of messages. */
  async function waitForOutbox(url: string, count: number): Promise<void> {
    const sql =
      'select (select count(*) from mailbox_items)::int as items, (select count(*) from outbox)::int as messages'
    await waitUntil(async () => {
      const [row] = await query<{ items: number; messages: number }>(url, sql)
      return row?.items === 0 && row.messages === count
    })
  }

  const answers = (bodies: string[]) => bodies.map((body) => `Answer to ${body}`)

  const listAccepted = () => cloud.accepted.map(({ body }) => body).toSorted()

  it('sends nothing twice and loses nothing acknowledged before it, with after-restore and a doctor without problems', async () => {
    await start(primary.url)
    const webhookPath = await connectChannel()
    cloud.webhooks.callbackUrl = `${parley.url}${webhookPath}`
    primary.execute(readBlocks('Continuous backups', 'sh', backups()))
    const early = list('a', ANSWERED)
    await write(early)
    await waitForOutbox(primary.url, 0)

    // The provider has taken these, and does not respond before the point. Second messages wait behind them.
    let respond = () => {}
    const responding = new Promise<void>((resolve) => (respond = resolve))
    cloud.beforeResponse = () => responding
    const claimed = list('b', IN_FLIGHT)
    await write(claimed)
    await cloud.whenAccepted(ANSWERED + IN_FLIGHT)
    await write(claimed, ' again')
    await waitForOutbox(primary.url, 2 * IN_FLIGHT)
    const [point] = await query<{ time: string }>(primary.url, 'select clock_timestamp()::text as time')
    respond()
    await waitForOutbox(primary.url, 0)
    const queued = claimed.map((body) => `${body} again`)
    const late = list('c', ANSWERED)
    await write(late)
    await waitForOutbox(primary.url, 0)
    const sentBefore = answers([...early, ...claimed, ...queued, ...late]).toSorted()
    expect(listAccepted()).to.deep.equal(sentBefore)

    await archiveAll()
    await parley.kill()
    primary.kill()
    restored = await DebianPostgres.recover(join(backups(), 'base'), {
      ...readSettings('Restore to a point in time', backups()),
      recovery_target_time: point?.time ?? '',
    })
    const { url, adminUrl } = restored
    await waitUntil(async () => {
      const [state] = await query<{ recovers: boolean }>(adminUrl, 'select pg_is_in_recovery() as recovers')
      return state?.recovers === false
    })

    const { code, stdout } = await runParley(['after-restore', '--yes'], settings(url))
    expect({ code, first: stdout.split('\n')[0] }).to.deep.equal({
      code: 0,
      first: `Messages in the outbox: ${2 * IN_FLIGHT}`,
    })
    const doctor = await runDoctor(settings(url))
    expect([...doctor.results.values()].filter(({ status }) => status === 'problem')).to.deep.equal([])
    expect(doctor.code).to.equal(0)

    await start(url)
    cloud.webhooks.callbackUrl = `${parley.url}${webhookPath}`
    const after = list('d', 2)
    await write(after)
    await cloud.whenAccepted(sentBefore.length + after.length)
    await waitForOutbox(url, 0)
    expect(listAccepted()).to.deep.equal([...sentBefore, ...answers(after)].toSorted())
    await expectStored(url, { received: [...early, ...claimed, ...queued, ...after], unknown: [...claimed, ...queued] })
  })

  /** Waits until the log of all that was committed is in the archive. */
  async function archiveAll(): Promise<void> {
    const [log] = await query<{ file: string }>(primary.adminUrl, 'select pg_walfile_name(pg_switch_wal()) as file')
    await waitUntil(async () => {
      const [state] = await query<{ file: string | null }>(
        primary.adminUrl,
        'select last_archived_wal as file from pg_stat_archiver',
      )
      return (state?.file ?? '') >= (log?.file ?? '')
    })
  }

  async function expectStored(url: string, expected: { received: string[]; unknown: string[] }): Promise<void> {
    const rows = await query<{ direction: string; body: string; code: string | null }>(
      url,
      `select direction, body, error ->> 'code' as code from messages where direction <> 'internal'`,
    )
    const received = rows.filter(({ direction }) => direction === 'inbound').map(({ body }) => body)
    expect(received.toSorted()).to.deep.equal(expected.received.toSorted())
    const unknown = rows.filter(({ code }) => code === 'delivery_unknown').map(({ body }) => body)
    expect(unknown.toSorted()).to.deep.equal(answers(expected.unknown).toSorted())
  }
})
