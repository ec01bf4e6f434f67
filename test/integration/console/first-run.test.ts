import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { startChromium, type TestChromium } from '../../support/chromium.ts'
import { START_MAX_MS } from '../../support/checkout.ts'
import { ROOT } from '../../support/documents.ts'
import { freePort } from '../../support/free-port.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** From an empty browser to an answered customer with the run on the screen. */
const JOURNEY_MAX_MS = 60_000

describe('the first minute with the console', function () {
  this.timeout(300_000)
  let chromium: TestChromium | undefined
  let folder: TempDir
  let server: ChildProcess
  let url: string

  before(async function () {
    chromium = await startChromium()
    if (!chromium) return this.skip()
    folder = createTempDir()
    const port = await freePort()
    url = `http://localhost:${port}`
    server = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
      cwd: ROOT,
      stdio: 'ignore',
      env: { ...process.env, PORT: String(port), DATA_DIR: folder.path, LOG_LEVEL: 'error', NODE_ENV: '' },
    })
    const isUp = () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await waitUntil(isUp, START_MAX_MS)
  })

  after(async () => {
    await chromium?.stop()
    if (!server) return
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    await ended
    await folder.remove()
  })

  it('leads with three clicks from an empty browser to an answered customer and the run that answered', async () => {
    const window = await chromium?.open(url)
    if (!window) return
    const { page } = window
    const startMs = performance.now()
    await page.goto(`${url}/console`)
    await page.getByRole('button', { name: 'Open the demo workspace' }).click()
    await page.getByRole('button', { name: 'Where is my order?' }).click()
    const messages = page.getByRole('log', { name: 'Messages', exact: true })
    await messages.getByText('What is your order number?').last().waitFor()
    await page.getByRole('link', { name: 'Open the run' }).click()
    await page.getByRole('listbox', { name: 'Steps' }).waitFor()
    expect(performance.now() - startMs).to.be.at.most(JOURNEY_MAX_MS)
    expect(window.complaints).to.deep.equal([])
    expect(window.foreignRequests).to.deep.equal([])
  })

  it('offers the demo workspace to this machine alone, not through a proxy', async () => {
    const read = async (headers: Record<string, string>) => (await fetch(`${url}/console`, { headers })).text()
    expect(await read({})).to.include('name="parley-demo"')
    for (const name of ['x-forwarded-for', 'forwarded', 'via'])
      expect(await read({ [name]: '10.1.2.3' })).not.to.include('parley-demo')
  })
})
