import { execFile } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { readDocument, ROOT } from '../support/documents.ts'
import { type TempDir, createTempDir } from '../support/temp-dir.ts'

const run = promisify(execFile)

describe('docs/operations.md', function () {
  this.timeout(120_000)
  let folder: TempDir

  before(() => {
    folder = createTempDir()
    for (const name of ['package.json', 'node_modules', 'scripts', 'src']) {
      symlinkSync(join(ROOT, name), join(folder.path, name))
    }
  })

  after(() => folder.remove())

  it('gives commands that back up, reset and restore the embedded database', async () => {
    await query("create table marks as select 'before the backup' as mark")
    await shell('Back up')
    await query("update marks set mark = 'after the backup'")
    await shell('Restore')
    expect(await query('select mark from marks')).to.deep.equal([{ mark: 'before the backup' }])
    await shell('Reset')
    expect(existsSync(join(folder.path, '.parley'))).to.equal(false)
  })

  /** Starts the server, connects as an operator would, and stops the server again. */
  async function query(statement: string): Promise<unknown[]> {
    const server = await startEmbeddedPostgres({ dataDir: join(folder.path, '.parley') })
    try {
      const { stdout } = await run('npm', ['run', '--silent', 'database-url'], { cwd: folder.path })
      const client = new pg.Client({ connectionString: stdout.trim() })
      await client.connect()
      const { rows } = await client.query(statement)
      await client.end()
      return rows
    } finally {
      await server.stop()
    }
  }

  /** Runs the shell blocks of a section that are not marked. */
  async function shell(heading: string): Promise<void> {
    const blocks = readDocument('docs/operations.md').blocks.filter((block) => block.heading === heading)
    const scripts = blocks.flatMap(({ language, notRun, text }) => (language === 'sh' && !notRun ? [text] : []))
    expect(scripts, heading).to.have.lengthOf(1)
    await run('bash', ['-e', '-c', scripts.join('\n')], { cwd: folder.path })
  }
})
