import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { FolderMigrationSource } from '../../../src/platform/database/migration-source.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { buildConversation, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { ask } from '../../support/steps.ts'

const FOLDER = new URL('../../../migrations/', import.meta.url)
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.ts'))

describe('migrations', () => {
  describe('as files', () => {
    const checksums = new Map(
      Object.entries<string>(JSON.parse(readFileSync(new URL('checksums.json', FOLDER), 'utf8'))),
    )

    it('are named <14 digits>_<words>.ts with unique digits', () => {
      for (const file of FILES) expect(file).to.match(/^\d{14}(?:_[a-z]+)+\.ts$/)
      expect(new Set(FILES.map((file) => file.slice(0, 14))).size).to.equal(FILES.length)
    })

    it('match their checksums in migrations/checksums.json', () => {
      for (const file of FILES) {
        const name = path.basename(file, '.ts')
        const checksum = createHash('sha256')
          .update(readFileSync(new URL(file, FOLDER)))
          .digest('hex')
        expect(
          checksums.has(name),
          `Migration ${name} is not listed. If it is new, add this line to migrations/checksums.json: "${name}": "${checksum}"`,
        ).to.equal(true)
        expect(
          checksum,
          `Migration ${name} has been changed. Databases that have applied it would not get the change: restore the file and add a new migration instead.`,
        ).to.equal(checksums.get(name))
        checksums.delete(name)
      }
      const missing = [...checksums.keys()].join(', ')
      expect(
        missing,
        `Migrations ${missing} are listed in migrations/checksums.json and their files are missing: restore them.`,
      ).to.equal('')
    })
  })

  describe('in a folder', () => {
    let folder: string

    beforeEach(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'parley-migrations-'))
    })

    afterEach(() => rmSync(folder, { recursive: true }))

    async function listNames(...files: string[]): Promise<string[]> {
      for (const file of files) writeFileSync(path.join(folder, file), '')
      const source = new FolderMigrationSource(pathToFileURL(`${folder}/`))
      return (await source.getMigrations()).map((migration) => source.getMigrationName(migration))
    }

    it('have the same names in the same order as TypeScript and as compiled files', async () => {
      expect(await listNames('20260302000000_add_b.ts', '20260301000000_create_a.ts', 'checksums.json')).to.deep.equal([
        '20260301000000_create_a',
        '20260302000000_add_b',
      ])
      rmSync(folder, { recursive: true })
      folder = mkdtempSync(path.join(tmpdir(), 'parley-migrations-'))
      const compiled = ['20260302000000_add_b.js', '20260301000000_create_a.js', '20260301000000_create_a.d.ts']
      expect(await listNames(...compiled, '20260301000000_create_a.js.map')).to.deep.equal([
        '20260301000000_create_a',
        '20260302000000_add_b',
      ])
    })

    it('are rejected when a file is not named like a migration, because it would never be applied', async () => {
      const error: unknown = await listNames('20260301000000_addColor.ts').catch((reason: unknown) => reason)
      expect(error).to.be.an('error').with.property('message').that.includes('20260301000000_addColor.ts in')
    })

    it('are rejected when two files have the same migration name', async () => {
      const error: unknown = await listNames('20260301000000_create_a.ts', '20260301000000_create_a.js').catch(
        (reason: unknown) => reason,
      )
      expect(error).to.be.an('error').with.property('message').that.includes('two files for migration 20260301000000')
    })
  })

  describe('on a database that is in use', () => {
    let app: TestApp

    before(async () => {
      app = await startTestApp({ ROLES: 'http' })
    })

    after(() => app.stop())

    it('are recorded by file name without extension and can be rolled back one by one and applied again', async () => {
      const workspace = await buildWorkspace(app)
      const advance = () => advanceMailboxes(app.system, { tenantId: workspace.tenantId })
      const variables = { pin: { type: 'string', sensitive: true } }
      await buildWorkflow(workspace, { variables, steps: [ask('name')] })
      await sendAsCustomer(workspace)
      const phone = newPhone()
      const conversation = await buildConversation(workspace, { phone })
      await advance()
      await sendAsCustomer(workspace, { phone, body: 'Ana' })
      await app.system.db('conversations').where({ id: conversation.id }).delete()
      const db = openDatabase(app.databaseUrl)
      try {
        const [run] = await db('runs').where({ tenant_id: workspace.tenantId })
        expect(run.state).to.deep.include({ status: 'waiting', sensitive: ['pin'] })
        const names = await db('migrations').orderBy('id').pluck<string[]>('name')
        expect(names).to.deep.equal(FILES.map((file) => path.basename(file, '.ts')))
        for (const _ of names) await db.migrate.down()
        expect(await db('migrations')).to.deep.equal([])
        await db.migrate.latest()
        expect(await db('runs')).to.deep.equal([])
      } finally {
        await db.destroy()
      }
    })
  })
})
