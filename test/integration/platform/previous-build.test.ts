import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Checkout } from '../../support/checkout.ts'
import { findUrl, isReady, Owner, stopServer } from '../../support/deployment.ts'
import { ROOT } from '../../support/documents.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'

const START = ['--import', 'tsx', 'src/main.ts']
const PREVIOUS = 'HEAD~1'

/** The text of a file of the previous commit; undefined where git or the history is missing, as in shallow clones. */
function readPrevious(path: string): string | undefined {
  const { status, stdout } = spawnSync('git', ['show', `${PREVIOUS}:${path}`], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  return status === 0 ? stdout : undefined
}

/** Returns why the previous commit cannot run here. */
function findObstacle(): string | undefined {
  if (readPrevious('src/platform/database/migrate.ts') === undefined) {
    return 'the previous commit is not in this clone, or its version requires the schema to be exactly its own'
  }
  const lockFile = readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
  if (readPrevious('package-lock.json') !== lockFile) return 'the previous commit needs other packages'
  return undefined
}

describe('the build of the previous commit', function () {
  this.timeout(300_000)
  const obstacle = findObstacle()
  let previous: Checkout | undefined
  let current: Checkout | undefined
  let database: TestDatabase | undefined

  before(async () => {
    database = await cloneDatabase(() => Promise.resolve())
  })

  after(async () => {
    await previous?.remove()
    await current?.remove()
    await database?.drop()
  })

  const title = 'works beside this one on the database that this one has migrated, and can start again'
  if (obstacle !== undefined) it.skip(`${title} (not run: ${obstacle})`)
  else
    it(title, async () => {
      previous = new Checkout('previous', { commit: PREVIOUS })
      current = new Checkout('current')
      const env = { DATABASE_URL: database?.url, SECRET_KEY: 'ab'.repeat(32), LOG_FORMAT: 'json' }
      const migrate = async (checkout: Checkout) => {
        const { code, stdout, stderr } = await checkout.run('npm', ['run', '--silent', 'migrate'], env)
        expect(code, stdout + stderr).to.equal(0)
      }
      await migrate(previous)
      let older = await previous.serve('node', START, env)
      const owner = await Owner.signUp(findUrl(older), 'ada@parley.example')
      await owner.publishAnswer(findUrl(older), 'Hi')
      await migrate(current)
      const newer = await current.serve('node', START, env)
      expect([await isReady(older), await isReady(newer)]).to.deep.equal([true, true])
      await owner.writeAndWait(findUrl(older), '+4917012000001')
      await owner.writeAndWait(findUrl(newer), '+4917012000002')
      await stopServer(older)
      older = await previous.serve('node', START, env)
      expect(await isReady(older)).to.equal(true)
      await stopServer(newer)
      await owner.writeAndWait(findUrl(older), '+4917012000003')
      await stopServer(older)
    })
})
