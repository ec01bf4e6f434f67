import { existsSync, readdirSync, readFileSync, cpSync, mkdirSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { Checkout } from '../../support/checkout.ts'
import { ROOT } from '../../support/documents.ts'

/** Programs of others, and combinations of scripts. */
const FOREIGN = /^(?:mocha|npm|tsc|oxlint|prettier|tsx|knex)\b/

const scripts = Object.entries(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }).scripts,
)

describe('the scripts of package.json', function () {
  this.timeout(240_000)
  let checkout: Checkout
  let database: Server
  let connections = 0

  before(async () => {
    checkout = new Checkout()
    for (const folder of ['bench', 'chaos', 'mutants', 'fake-whatsapp', 'test'])
      cpSync(join(ROOT, folder), join(checkout.path, folder), { recursive: true })
    mkdirSync(join(checkout.path, 'dist'))
    database = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    database.listen(0, '127.0.0.1')
    await once(database, 'listening')
  })

  after(async () => {
    database.close()
    await checkout.remove()
  })

  /** Runs a script against a database that nobody may touch, and verifies that it has left everything as it was. */
  async function run(script: string, ...args: string[]) {
    const address = database.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const files = readdirSync(checkout.path)
    const result = await checkout.run('npm', ['run', '--silent', script, '--', ...args], {
      DATABASE_URL: `postgres://parley:parley@127.0.0.1:${port}/parley`,
      SECRET_KEY: 'ab'.repeat(32),
    })
    expect(readdirSync(checkout.path)).to.deep.equal(files)
    expect(existsSync(join(checkout.path, 'dist'))).to.equal(true)
    expect(connections).to.equal(0)
    return result
  }

  it('npm run seed: knex prints the usage for --help, and a sentence for an unknown option, without any effect', async () => {
    const help = await run('seed', '--help')
    expect(help.stdout).to.match(/^Usage: knex seed:run/)
    const unknown = await run('seed', '--unknown')
    expect(unknown.stderr).to.equal("error: unknown option '--unknown'\n")
    expect([help.code, unknown.code]).to.deep.equal([0, 1])
  })

  for (const [script, command] of scripts.filter(([, text]) => !FOREIGN.test(text))) {
    it(`npm run ${script}: --help prints the usage, and an unknown option a sentence, without any effect: ${command}`, async () => {
      const help = await run(script, '--help')
      expect(help.stdout).to.match(new RegExp(`^Usage: npm (?:run )?(?:--silent )?${script}\\b`))
      expect(help.code).to.equal(0)
      const unknown = await run(script, '--unknown')
      expect(unknown.stderr).to.match(/^Unknown option '--unknown'.*\n\nUsage: npm /)
      expect(unknown.code).to.equal(2)
    })
  }
})
