import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { Checkout } from '../../support/checkout.ts'
import { compiledProgram } from '../../support/compiled-programs.ts'
import { isReady, stopServer } from '../../support/deployment.ts'
import { waitUntil } from '../../support/wait-until.ts'

const FROM_SOURCES = ['--import', 'tsx', 'src/main.ts']

describe('a process of Parley', function () {
  this.timeout(240_000)
  let checkout: Checkout
  let main: string

  before(async () => {
    main = await compiledProgram('src/main.ts')
  })

  afterEach(() => checkout.remove())

  it('starts from a folder whose name contains a space, an accent and a number sign', async () => {
    checkout = new Checkout('Café de São # 1')
    const { child, ended } = await checkout.serve('node', FROM_SOURCES)
    child.kill('SIGTERM')
    expect((await ended).code).to.equal(0)
  })

  it('stops when npm start receives SIGTERM', async () => {
    checkout = new Checkout()
    const { child, ended, output } = await checkout.serve('npm', ['start'])
    child.kill('SIGTERM')
    await ended
    expect(output.stdout).to.include('stopping: finishing what is in flight')
    expect(checkout.hasRunningServer).to.equal(false)
  })

  it('stops with its embedded database when it receives SIGQUIT', async () => {
    checkout = new Checkout()
    const { child, ended } = await checkout.serve('node', [main])
    child.kill('SIGQUIT')
    const { code } = await ended
    expect({ code, hasRunningServer: checkout.hasRunningServer }).to.deep.equal({ code: 0, hasRunningServer: false })
  })

  it('stops the embedded database when its start fails', async () => {
    checkout = new Checkout()
    mkdirSync(join(checkout.path, '.parley'))
    writeFileSync(join(checkout.path, '.parley/tmp'), 'a file in place of a folder')
    const { code, stderr } = await checkout.run('node', FROM_SOURCES)
    expect(stderr).to.include('.parley/tmp')
    expect(existsSync(join(checkout.path, '.parley/postgres/data'))).to.equal(true)
    expect({ code, hasRunningServer: checkout.hasRunningServer }).to.deep.equal({ code: 1, hasRunningServer: false })
  })

  it('says before it creates a database that its port is in use', async () => {
    checkout = new Checkout()
    const blocker = createServer().listen(0, '127.0.0.1')
    await once(blocker, 'listening')
    const address = blocker.address()
    const PORT = typeof address === 'object' ? String(address?.port) : ''
    const { code, stderr } = await checkout.run('node', [main], { PORT })
    blocker.close()
    expect(stderr).to.include('Set PORT to a free port')
    expect({ code, hasDatabase: existsSync(join(checkout.path, '.parley')) }).to.deep.equal({
      code: 1,
      hasDatabase: false,
    })
  })

  for (const HOST of ['192.0.2.1', 'no-such-host.invalid'])
    it(`says before it creates a database that ${HOST} is no address of this machine`, async () => {
      checkout = new Checkout()
      const { code, stderr } = await checkout.run('node', [main], { HOST, PORT: '0' })
      expect(stderr).to.include(`HOST: ${HOST} is no address of this machine`)
      expect({ code, hasDatabase: existsSync(join(checkout.path, '.parley')) }).to.deep.equal({
        code: 1,
        hasDatabase: false,
      })
    })

  it('stops the embedded database after a command of knex', async () => {
    checkout = new Checkout()
    const { code, stdout } = await checkout.run('npx', ['knex', 'migrate:latest'])
    expect(stdout).to.include('Batch 1 run')
    expect({ code, hasRunningServer: checkout.hasRunningServer }).to.deep.equal({ code: 0, hasRunningServer: false })
  })

  for (const [file, ...args] of [
    ['node', '--import', 'tsx', 'scripts/migrate.ts'],
    ['node_modules/.bin/knex', 'migrate:latest'],
  ]) {
    it(`stops the embedded database when a signal ends ${file ?? ''} ${args.join(' ')}`, async () => {
      checkout = new Checkout()
      const { child, ended } = checkout.start(file ?? '', args)
      await waitUntil(() => checkout.hasRunningServer)
      child.kill('SIGHUP')
      await ended
      await waitUntil(() => !checkout.hasRunningServer)
    })
  }

  it('keeps the embedded database of another process running after a command of knex', async () => {
    checkout = new Checkout()
    const { child, ended } = await checkout.serve('node', [main])
    expect((await checkout.run('npx', ['knex', 'migrate:list'])).stdout).to.match(/Found \d+ Completed Migration/)
    expect(checkout.hasRunningServer).to.equal(true)
    child.kill('SIGTERM')
    expect((await ended).code).to.equal(0)
    expect(checkout.hasRunningServer).to.equal(false)
  })

  it('shares the embedded database with a process on another port until both have stopped', async () => {
    checkout = new Checkout()
    const first = await checkout.serve('node', [main])
    const second = await checkout.serve('node', [main])
    await stopServer(first)
    expect(await isReady(second)).to.equal(true)
    await stopServer(second)
    expect(checkout.hasRunningServer).to.equal(false)
  })
})
