import { expect } from 'chai'
import type { TestSession } from '../../support/app.ts'
import type { TestWindow } from '../../support/chromium.ts'
import { ConsoleRig } from '../../support/console.ts'

/** Acts as a browser that forbids a page to store anything. */
const FORBID_STORAGE = `
  for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(globalThis, name, { get() { throw new DOMException('denied', 'SecurityError') } })`

describe('sessions of the console', function () {
  this.timeout(120_000)
  let rig: ConsoleRig
  let contactId: string

  before(async function () {
    const started = await ConsoleRig.start()
    if (!started) return this.skip()
    rig = started
    const { body } = await rig.app.rest('POST', '/api/sandbox/messages', {
      session: rig.demo,
      body: { phone: '+12025550180', name: 'Zelda', body: 'Good afternoon' },
    })
    contactId = body.contactId
  })

  after(() => rig?.stop())

  const findReply = ({ page }: TestWindow) => page.getByRole('textbox', { name: 'Reply' })
  const join = () => rig.app.join(rig.demo.tenantId, 'agent')

  /** Opens the contact in the demo workspace, in which a member has another one as well. */
  async function openContact(session: TestSession): Promise<TestWindow> {
    const window = await rig.open(`/contacts/${contactId}`, session)
    await window.page.getByLabel('Workspace').selectOption(rig.demo.tenantId)
    await findReply(window).waitFor()
    return window
  }

  async function signIn({ page }: TestWindow, { email, password }: TestSession): Promise<void> {
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Workspace').selectOption(rig.demo.tenantId)
  }

  it('leave no drafts to the next member who signs in with the same browser', async () => {
    const window = await openContact(await join())
    await findReply(window).fill('for your eyes only')
    await window.page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(window, await join())
    await findReply(window).waitFor()
    expect(await findReply(window).inputValue()).to.equal('')
    await window.page.context().close()
  })

  it('leave none to another member either if they end on the server, but to the same one', async () => {
    const [first, second] = [await join(), await join()]
    const window = await openContact(first)
    const end = async () => {
      const cookies = await window.page.context().cookies()
      const cookie = cookies.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join('; ')
      await rig.app.rest('POST', '/api/auth/sign-out', { session: { ...first, cookie }, body: {} })
    }
    await findReply(window).fill('still thinking')
    await end()
    await signIn(window, first)
    await findReply(window).waitFor()
    expect(await findReply(window).inputValue()).to.equal('still thinking')
    await end()
    await signIn(window, second)
    await findReply(window).waitFor()
    expect(await findReply(window).inputValue()).to.equal('')
    await window.page.context().close()
  })

  it('go on after a sign-out that failed, which says so and keeps the draft', async () => {
    const window = await openContact(await join())
    const { page } = window
    await findReply(window).fill('not yet')
    await page.route('**/trpc/auth.signOut*', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('status').getByText('You may still be signed in').waitFor()
    expect(await page.getByRole('heading', { name: 'Zelda', level: 1 }).count()).to.equal(1)
    await page.reload()
    await findReply(window).waitFor()
    expect(await findReply(window).inputValue()).to.equal('not yet')
    await page.context().close()
  })

  it('show nothing of a workspace any more to a member who is removed from it', async () => {
    const member = await join()
    const window = await openContact(member)
    const { page } = window
    await page.getByText('Live', { exact: true }).waitFor()
    const { status } = await rig.app.rest('DELETE', `/api/members/${member.userId}`, { session: rig.demo })
    expect(status).to.be.within(200, 204)
    await page.getByRole('heading', { name: 'Zelda' }).waitFor({ state: 'hidden' })
    expect(await page.getByText('Good afternoon').count()).to.equal(0)
    const workspaces = page.getByLabel('Workspace').getByRole('option')
    expect(await workspaces.count()).to.equal(1)
    await page.context().close()
  })

  it('work where the browser forbids the page to store anything', async () => {
    const window = await rig.open('/no-such-page')
    const { page } = window
    await page.addInitScript(FORBID_STORAGE)
    await page.goto(`${rig.app.url}/console/contacts/${contactId}`)
    await findReply(window).fill('Nothing is stored')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('article', { name: 'Being sent' }).waitFor({ state: 'hidden' })
    await page.getByRole('log', { name: 'Messages' }).getByText('Nothing is stored').waitFor()
    await page.getByRole('button', { name: 'Theme: system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('say what to do where the files of a page are gone after an upgrade', async () => {
    const window = await rig.open('/contacts')
    const { page } = window
    await page.getByText('Live', { exact: true }).waitFor()
    await page.route('**/console/assets/*', (route) => route.fulfill({ status: 404, body: '' }))
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('link', { name: 'Broadcasts' }).click()
    await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Load again' }).click()
    await page.getByRole('heading', { name: 'Broadcasts', level: 1 }).waitFor()
    await page.context().close()
  })
})
