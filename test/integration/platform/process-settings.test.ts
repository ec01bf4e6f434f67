import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Checkout, hasTerminals } from '../../support/checkout.ts'
import { compiledProgram } from '../../support/compiled-programs.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('settings of a process', function () {
  this.timeout(240_000)
  let checkout: Checkout
  let main: string

  before(async () => {
    main = await compiledProgram('src/main.ts')
  })

  beforeEach(() => {
    checkout = new Checkout()
  })

  afterEach(() => checkout.remove())

  it('come from .env, below the variables of the environment', async () => {
    writeFileSync(join(checkout.path, '.env'), 'PORT=99999\nLOG_FORMAT=pretty\n')
    const { child, ended, output } = await checkout.serve('node', [main], { PORT: '0' })
    child.kill('SIGTERM')
    expect((await ended).code).to.equal(0)
    expect(output.stdout).to.match(/^Parley is listening on http:\/\/localhost:\d+$/m)
    expect(output.stdout).to.match(/INFO.*: stopping: finishing what is in flight/)
    expect(output.stderr).to.equal('')
  })

  it('are reported with line numbers if .env has mistakes', async () => {
    writeFileSync(join(checkout.path, '.env'), 'HOST=127.0.0.1\nPORT: 8080\n')
    const { code, stdout, stderr } = await checkout.run('node', [main])
    const problem = '.env: line 2 must be NAME=value, or a comment that starts with #'
    expect(stderr).to.equal(`The configuration is invalid:\n  - ${problem}\n`)
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
  })

  it('select a log in which every line is JSON, and a page with the demo account, by default', async () => {
    const { child, ended, output } = await checkout.serve('node', [main])
    const url = /listening on (http:[\w.:/]+)/.exec(output.stdout)?.[1] ?? ''
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
    child.kill('SIGTERM')
    expect((await ended).code).to.equal(0)
    const messages = output.stdout
      .trim()
      .split('\n')
      .map((line) => String(JSON.parse(line).msg))
    expect(messages.join('\n')).to.include('Parley is listening on').and.include(`${url} shows the demo account`)
    expect(output.stdout).to.not.include('demo@parley.example').and.not.include('parley-demo')
    expect(page).to.include('{"email":"demo@parley.example","password":"parley-demo"}')
    expect(output.stderr).to.equal('')
  })

  it('select a log for reading when standard output is a terminal', async function () {
    if (!hasTerminals) this.skip()
    const command = `echo pid $$; exec ${process.execPath} ${main}`
    const { ended, output } = await checkout.untilListening(checkout.startAtTerminal(command))
    const [, url = ''] = /listening on (http:\/\/[\w.:]+)/.exec(output.stdout) ?? []
    await fetch(`${url}/api/contacts`)
    process.kill(Number(/pid (\d+)/.exec(output.stdout)?.[1]), 'SIGTERM')
    await ended
    await waitUntil(() => !checkout.hasRunningServer)
    expect(output.stdout)
      .to.match(/INFO.*creating the database/)
      .and.match(/INFO.*stopping: finishing what is in flight/)
    expect(output.stdout).to.match(/INFO\S*: \S*GET \/api\/contacts 401 [\d.]+ ms\S*$/m)
    expect(output.stdout).to.include(`Files: ${checkout.path}`).and.include('Stop: Ctrl+C')
    expect(output.stdout).to.not.include('{"level"')
  })
})
