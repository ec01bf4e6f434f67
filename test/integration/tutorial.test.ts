import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Checkout } from '../support/checkout.ts'
import { readDocument, ROOT } from '../support/documents.ts'
import { listCommands, ShellSession } from '../support/shell-session.ts'

const EXAMPLES = 'docs/examples'

describe('docs/tutorial.md', function () {
  this.timeout(240_000)
  const { blocks } = readDocument('docs/tutorial.md')
  let checkout: Checkout

  before(() => {
    checkout = new Checkout()
    cpSync(join(ROOT, EXAMPLES), join(checkout.path, EXAMPLES), { recursive: true })
  })

  after(() => checkout.remove())

  it('shows the workflow of its file', () => {
    const [shown] = blocks.filter(({ language }) => language === 'json')
    expect(shown?.text).to.equal(readFileSync(join(ROOT, EXAMPLES, 'visits.json'), 'utf8'))
  })

  it('shows the output that its commands print, also after they have killed the server', async () => {
    let server = await checkout.serve('npm', ['start'])
    const url = /listening on (http:[\w.:/]+)/.exec(server.output.stdout)?.[1] ?? ''
    const env = { CURL_HOME: checkout.path }
    const session = new ShellSession({ cwd: checkout.path, env, replacements: [['http://localhost:3000', url]] })
    let kills = 0
    try {
      for (const { text } of blocks.filter(({ language }) => language === 'console')) {
        for (const command of listCommands(text)) {
          await session.run(command)
          if (!command.line.startsWith('kill -9')) continue
          kills += 1
          await server.ended
          server = await checkout.serve('npm', ['start'], { PORT: new URL(url).port })
        }
      }
    } finally {
      await session.close()
    }
    expect(kills).to.equal(1)
  })
})
