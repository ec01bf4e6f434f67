import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Database, openDatabase, seedIfEmpty } from '../../src/platform/database/database.ts'
import { MINUTE, systemClock } from '../../src/platform/time.ts'
import { newAddress, startTestApp, type TestApp } from '../support/app.ts'
import { type Document, listDocuments, readDocument, ROOT } from '../support/documents.ts'
import { FakeWhatsappProcess } from '../support/fake-whatsapp-process.ts'
import { listCommands, ShellSession } from '../support/shell-session.ts'
import { type TempDir, createTempDir } from '../support/temp-dir.ts'

/** The tutorial kills its server, and has a test of its own. */
const documents = listDocuments().filter(({ path }) => path !== 'docs/tutorial.md')

describe('documentation sessions', function () {
  // Each of the commands starts a process, which takes seconds on a busy machine.
  this.timeout(3 * MINUTE)

  let app: TestApp
  let fake: FakeWhatsappProcess
  let folder: TempDir

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    fake = await FakeWhatsappProcess.start()
    const db = openDatabase(app.databaseUrl)
    await seedIfEmpty(db)
    folder = createTempDir()
    await runDocumentedSeed(db)
    await db.destroy()
  })

  after(async () => {
    await fake.stop()
    await app.stop()
    await folder.remove()
  })

  for (const document of documents.filter(({ blocks }) => blocks.some(({ language }) => language === 'console'))) {
    it(`${document.path} shows the output that its commands print`, () => runSessions(document))
  }

  it('README.md shows a TypeScript example that runs', async () => {
    const [example] = readDocument('README.md').blocks.filter(({ language }) => language === 'ts')
    const file = join(folder.path, 'example.mts')
    const client = new URL('../../packages/client/src/index.ts', import.meta.url).href
    const text =
      example?.text.replace("'@parley/client'", `'${client}'`).replace('http://localhost:3000', app.url) ?? ''
    const prints = text.split('console.log')
    expect(prints.length).to.equal(2)
    writeFileSync(file, prints.join('export const printed = '))
    const { printed } = (await import(file)) as { printed: string[] }
    expect(printed).to.include('inbound: Where is my order?')
  })

  /** Executes the seed of docs/seeds.md, whose session reads what it has inserted. */
  async function runDocumentedSeed(db: Database): Promise<void> {
    const [example] = readDocument('docs/seeds.md').blocks.filter(({ language }) => language === 'ts')
    const kit = new URL('../../src/seed/index.ts', import.meta.url).href
    writeFileSync(join(folder.path, 'garden.mts'), example?.text.replace('../src/seed/index.ts', kit) ?? '')
    await db.seed.run({ directory: folder.path, loadExtensions: ['.mts'] })
  }

  /** Sessions of one document share a shell and a client address, so that each document has its own rate limits. */
  async function runSessions({ blocks }: Document): Promise<void> {
    writeFileSync(join(folder.path, '.curlrc'), `header = "x-forwarded-for: ${newAddress()}"\nno-progress-meter\n`)
    const replacements: [string, string][] = [
      ['http://localhost:3000', app.url],
      ['http://127.0.0.1:4010', fake.url],
      [
        'npx parley',
        `node --import ${join(ROOT, 'node_modules/tsx/dist/loader.mjs')} ${join(ROOT, 'src/cli/parley.ts')}`,
      ],
    ]
    const session = new ShellSession({ cwd: folder.path, env: { CURL_HOME: folder.path }, replacements })
    try {
      for (const { text } of blocks.filter(({ language }) => language === 'console')) {
        for (const command of listCommands(text)) await session.run(command)
      }
    } finally {
      await session.close()
    }
  }
})
