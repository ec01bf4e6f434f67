import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { startChromium, type TestChromium } from '../../support/chromium.ts'
import { freePort } from '../../support/free-port.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PACKAGE = fileURLToPath(new URL('../../../packages/client', import.meta.url))
const TABS = 9

/** Serves the example as a page with an origin of its own. */
async function servePage(): Promise<Server> {
  const { outputFiles } = await build({
    entryPoints: [`${PACKAGE}/examples/conversations.tsx`],
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: { '@parley/client/react': `${PACKAGE}/src/react.tsx`, '@parley/client': `${PACKAGE}/src/index.ts` },
  })
  const script = outputFiles[0]?.text.replaceAll('</script', String.raw`<\/script`) ?? ''
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(
      `<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script type="module">${script}</script>`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

describe('the React example of the client', function () {
  this.timeout(180_000)
  let browser: TestChromium | undefined
  let app: TestApp
  let owner: WorkspaceClient
  let server: Server
  let parley: ParleyProcess
  let startParley: () => Promise<ParleyProcess>
  let address: string
  /** The addresses of the streams that all tabs have opened. */
  const streams: string[] = []
  const tabs: Page[] = []

  before(async function () {
    browser = await startChromium()
    if (!browser) return this.skip()
    app = await startTestApp({}, systemClock)
    owner = await buildWorkspace(app)
    server = await servePage()
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const settings = {
      DATABASE_URL: app.databaseUrl,
      DATA_DIR: app.dataDir,
      APP_ORIGINS: origin,
      PORT: String(await freePort()),
    }
    startParley = () => startParleyProcess(settings)
    parley = await startParley()
    address = `${origin}/?server=http://127.0.0.1:${settings.PORT}`
    await owner.call('POST', '/api/contacts', { name: 'Kim', phone: '+4915112340000' })
    await write('Hello')
    const { page } = await browser.open(origin)
    page.context().on('request', (request) => {
      if (request.url().includes('/trpc/events.follow')) streams.push(request.url())
    })
    tabs.push(page)
  })

  after(async () => {
    await browser?.stop()
    await parley?.kill()
    server?.close()
    await app?.stop()
  })

  function write(body: string): Promise<unknown> {
    return owner.call('POST', '/api/sandbox/messages', { phone: '+4915112340000', body })
  }

  function expectShown(page: Page, text: string): Promise<void> {
    return page.getByText(text).first().waitFor({ timeout: 30_000 })
  }

  it('shows conversations, messages as they arrive, and a reply with its delivery', async () => {
    const [page] = tabs
    if (!page) throw new Error('There is no tab')
    await page.goto(address)
    await page.getByLabel('Email').fill(owner.email)
    await page.getByLabel('Password').fill(owner.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Kim' }).click()
    await expectShown(page, 'Customer: Hello')
    await waitUntil(() => streams.length === 1)
    await write('Is anybody there?')
    await expectShown(page, 'Customer: Is anybody there?')
    await page.getByLabel('Reply').fill('We are')
    await page.getByRole('button', { name: 'Send' }).click()
    await expectShown(page, 'We: We are delivered')
  })

  it(`shows a message in ${TABS} tabs, which share one stream`, async () => {
    const [first] = tabs
    for (let count = 1; count < TABS; count += 1) {
      const page = await first?.context().newPage()
      if (!page) continue
      tabs.push(page)
      await page.goto(address)
      await page.getByRole('button', { name: 'Kim' }).click()
      await expectShown(page, 'We: We are')
    }
    await write('In every tab')
    for (const page of tabs) await expectShown(page, 'Customer: In every tab')
    expect(tabs).to.have.lengthOf(TABS)
    expect(streams).to.have.lengthOf(1)
  })

  it('goes on in another tab after the last event when the tab with the stream is closed', async () => {
    await tabs.shift()?.close()
    await write('After the tab')
    for (const page of tabs) await expectShown(page, 'Customer: After the tab')
    expect(streams).to.have.lengthOf(2)
    expect(decodeURIComponent(streams[1] ?? '')).to.match(/"lastEventId":"\d+-/)
  })

  it('shows what was written while the server was restarted', async () => {
    await parley.kill()
    await write('During the restart')
    parley = await startParley()
    for (const page of tabs) await expectShown(page, 'Customer: During the restart')
  })
})
