import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { DEMO } from '../../../seeds/demo/ids.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { Checkout, hasTerminals, type RunningProgram } from '../../support/checkout.ts'
import { waitUntil } from '../../support/wait-until.ts'

const CTRL_C = '\u0003'

describe('npm start at a terminal', function () {
  this.timeout(240_000)
  let checkout: Checkout
  let npmStart: RunningProgram

  beforeEach(function () {
    if (!hasTerminals) this.skip()
    checkout = new Checkout()
    npmStart = checkout.startAtTerminal('exec npm start')
  })

  afterEach(() => checkout?.remove())

  const pressCtrlC = () => npmStart.child.stdin?.write(CTRL_C)

  /** Begins to upload a file, and returns when the server has begun to receive it. */
  async function beginUpload() {
    const url = /listening on (http:\/\/[\w.:]+)/.exec(npmStart.output.stdout)?.[1] ?? ''
    const signIn = await fetch(`${url}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: DEMO.email, password: DEMO.password }),
    })
    const cookie = signIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const headers = { cookie, 'x-tenant-id': DEMO.workspaceId, 'content-type': 'text/plain' }
    const upload = request(`${url}/api/media`, { method: 'POST', headers })
    upload.write('the first half, ')
    const incoming = join(checkout.path, '.parley/media/incoming')
    await waitUntil(() => existsSync(incoming) && readdirSync(incoming).length > 0)
    return upload
  }

  it('finishes a request in flight after Ctrl+C, which npm forwards a second time, and reports success', async () => {
    await checkout.untilListening(npmStart)
    const upload = await beginUpload()
    pressCtrlC()
    await waitUntil(() => npmStart.output.stdout.includes('stopping: finishing what is in flight'))
    upload.end('and the second')
    const [{ statusCode }] = await once(upload, 'response')
    const { code, stdout } = await npmStart.ended
    expect({ code, statusCode }).to.deep.equal({ code: 0, statusCode: 201 })
    expect(stdout.split('stopping: ')).to.have.length(2)
    expect(checkout.hasRunningServer).to.equal(false)
  })

  it('ends at once when Ctrl+C is pressed again a second later', async () => {
    await checkout.untilListening(npmStart)
    const upload = await beginUpload()
    upload.on('error', () => undefined)
    pressCtrlC()
    await waitUntil(() => npmStart.output.stdout.includes('stopping: finishing what is in flight'))
    const stoppingSinceMs = performance.now()
    await waitUntil(() => performance.now() - stoppingSinceMs > 1.1 * SECOND)
    pressCtrlC()
    expect((await npmStart.ended).code).to.equal(1)
    expect(checkout.hasRunningServer).to.equal(false)
  })

  for (const [moment, hasCome] of Object.entries({
    'the database is being created': (postgres: string) =>
      existsSync(postgres) && readdirSync(postgres).some((name) => /^data\.\w+$/.test(name)),
    'the database server is starting': (postgres: string) => existsSync(join(postgres, 'postgres.log')),
    'the database server runs': (postgres: string) => existsSync(join(postgres, 'port')),
  })) {
    it(`leaves no process behind when Ctrl+C is pressed while ${moment}`, async () => {
      await waitUntil(() => hasCome(join(checkout.path, '.parley/postgres')))
      pressCtrlC()
      await npmStart.ended
      await expectNothingRuns()
    })
  }

  it('finishes a request in flight when the terminal is closed, and stops the database', async () => {
    await checkout.untilListening(npmStart)
    const upload = await beginUpload()
    npmStart.child.kill('SIGKILL')
    await npmStart.ended
    upload.end('and the second')
    const [{ statusCode }] = await once(upload, 'response')
    expect(statusCode).to.equal(201)
    await expectNothingRuns()
  })

  it('stops the database when the terminal is closed during the start', async () => {
    await waitUntil(() => existsSync(join(checkout.path, '.parley/postgres/port')))
    npmStart.child.kill('SIGKILL')
    await npmStart.ended
    await expectNothingRuns()
  })

  /** Processes that have been told to end may need a moment. */
  async function expectNothingRuns(): Promise<void> {
    await waitUntil(() => listProcesses(checkout.path).length === 0, 20_000)
  }
})

/** Lists the processes that work in a folder or name it in their arguments. */
function listProcesses(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const isIn = readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
      return isIn || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
    } catch {
      return false
    }
  })
}
