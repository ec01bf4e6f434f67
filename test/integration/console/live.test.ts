import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { LOAD_CALLS_MAX, prepareRig, listCalls, repeatLoad, toCookie, waitUntilLoaded } from '../../support/console.ts'
import { freePort } from '../../support/free-port.ts'
import { waitUntil } from '../../support/wait-until.ts'

const IDLE_MS = 20_000

describe('the live pages of the console', function () {
  this.timeout(180_000)
  const rig = prepareRig()

  async function sendAsCustomer(app: TestApp, session: TestSession, phone: string, body: string): Promise<void> {
    const { status } = await app.rest('POST', '/api/sandbox/messages', { session, body: { phone, name: 'Vera', body } })
    expect(status).to.equal(201)
  }

  async function waitForLive(page: Page): Promise<void> {
    await page.getByText('Live', { exact: true }).waitFor()
  }

  it('work in nine tabs with one connection, which another tab takes over when its own is closed', async () => {
    const window = await rig().open('/contacts')
    const context = window.page.context()
    let streams = 0
    context.on('request', (request) => {
      if (request.url().includes('events.follow')) streams += 1
    })
    const pages = [window.page]
    await waitForLive(window.page)
    streams = 0
    for (let tab = 1; tab < 9; tab += 1) {
      const page = await context.newPage()
      await page.goto(`${rig().app.url}/console/contacts`)
      await waitForLive(page)
      pages.push(page)
    }
    expect(streams).to.equal(0)
    await sendAsCustomer(rig().app, rig().demo, '+12025550150', 'hello')
    for (const page of pages) await page.getByText('Vera').first().waitFor()

    await window.page.close()
    await waitUntil(() => streams === 1)
    await sendAsCustomer(rig().app, rig().demo, '+12025550151', 'hello again')
    for (const page of pages.slice(1)) await page.getByText('+12025550151').waitFor()
    await context.close()
  })

  it('send nothing in 20 seconds in which nothing happens', async () => {
    const window = await rig().open('/playground')
    await waitUntilLoaded(window)
    const count = window.requests.length
    await window.page.waitForTimeout(IDLE_MS)
    expect(window.requests.slice(count)).to.deep.equal([])
    await window.page.context().close()
  })

  it('load with at most four calls', async () => {
    for (const path of ['/playground', '/runs', '/workflows', '/contacts', '/broadcasts']) {
      const calls = await repeatLoad(async () => {
        const window = await rig().open(path)
        await waitUntilLoaded(window)
        await window.page.context().close()
        return listCalls(window)
      })
      expect(calls.length, `${path}: ${calls.join('\n')}`).to.be.at.most(LOAD_CALLS_MAX)
    }
  })

  it('say that they are not live while the server restarts, and then show what happened meanwhile', async () => {
    const port = String(await freePort())
    const start = () => startTestApp({ DATABASE_URL: rig().app.databaseUrl, PORT: port, ROLES: 'http' }, systemClock)
    const before = await start()
    const window = await rig().open('/contacts', rig().demo, { url: before.url })
    await waitForLive(window.page)
    await before.stop()
    await window.page.getByText('Connecting', { exact: true }).waitFor()
    await sendAsCustomer(rig().app, rig().demo, '+12025550152', 'while you were away')
    const after = await start()
    await waitForLive(window.page)
    await window.page.getByText('+12025550152').waitFor()
    await window.page.context().close()
    await after.stop()
  })

  it('show nothing of another workspace, before and after its events', async () => {
    const other = await rig().app.signUp('Mallory')
    const window = await rig().open('/contacts', other)
    await waitForLive(window.page)
    await sendAsCustomer(rig().app, rig().demo, '+12025550153', 'for the demo workspace only')
    await sendAsCustomer(rig().app, other, '+12025550154', 'for the other one')
    await window.page.getByText('+12025550154').waitFor()
    expect(await window.page.getByText('+12025550153').count()).to.equal(0)
    await window.page.context().close()
  })

  it('change to another workspace of the same user with all that they show', async () => {
    const session = await rig().app.signUp('Nina')
    const { body } = await rig().app.rest('POST', '/api/workspaces', { session, body: { name: 'Second' } })
    await sendAsCustomer(rig().app, session, '+12025550155', 'first')
    await sendAsCustomer(rig().app, { ...session, tenantId: body.id }, '+12025550156', 'second')
    const window = await rig().open('/contacts', session)
    await window.page.context().addCookies([toCookie(session, rig().app.url)])
    await window.page.getByLabel('Workspace').selectOption(session.tenantId)
    await window.page.getByText('+12025550155').waitFor()
    await window.page.getByLabel('Workspace').selectOption('Second')
    await window.page.getByText('+12025550156').waitFor()
    expect(await window.page.getByText('+12025550155').count()).to.equal(0)
    await window.page.context().close()
  })
})
