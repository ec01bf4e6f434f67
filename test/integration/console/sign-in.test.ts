import { expect } from 'chai'
import type { TestWindow } from '../../support/chromium.ts'
import { prepareRig, toCookie } from '../../support/console.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('signing in to the console', function () {
  this.timeout(120_000)
  const rig = prepareRig()

  async function submit({ page }: TestWindow, email: string, password: string): Promise<void> {
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }

  it('leads to the page that was asked for, and signing out leads back', async () => {
    const window = await rig().open('/contacts', null)
    await submit(window, rig().demo.email, rig().demo.password)
    await window.page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor()
    await window.page.getByRole('button', { name: 'Sign out' }).click()
    await window.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(window.complaints).to.deep.equal([])
    await window.page.context().close()
  })

  it('says why it failed, and shows no demo account to a browser on another machine', async () => {
    const window = await rig().open('/playground', null)
    expect(await window.page.getByRole('button', { name: 'Open the demo workspace' }).count()).to.equal(0)
    await submit(window, rig().demo.email, 'not the password')
    await window.page
      .getByRole('alert')
      .getByText(/password/i)
      .waitFor()
    await window.page.context().close()
  })

  it('counts down after too many attempts', async () => {
    const window = await rig().open('/playground', null)
    for (let attempt = 0; attempt < 7; attempt += 1) {
      const answered = window.page.waitForResponse((response) => response.url().includes('auth.signIn'))
      await submit(window, 'nobody@parley.example', 'wrong password')
      await answered
    }
    await window.page.getByText(/The next one is possible in \d+ s/).waitFor()
    await window.page.context().close()
  })

  it('explains a browser that drops the cookie, which is marked Secure', async () => {
    const window = await rig().open('/playground', null)
    // What a browser does on a name that is neither localhost nor https.
    await window.page.route('**/trpc/auth.signIn*', async (route) => {
      const response = await route.fetch()
      await window.page.context().clearCookies()
      const { 'set-cookie': _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await submit(window, rig().demo.email, rig().demo.password)
    await window.page.getByText('Your browser dropped the session cookie').waitFor()
    await window.page.context().close()
  })

  it('creates an account with a workspace of its own, in which nothing of others is seen', async () => {
    const window = await rig().open('/sign-up', null)
    await window.page.getByLabel('Name').fill('Grace')
    await window.page.getByLabel('Email').fill('grace@parley.example')
    await window.page.getByLabel('Password').fill('a battery of horses 7')
    await window.page.getByRole('button', { name: /Create an account/ }).click()
    await window.page.getByRole('heading', { name: 'Playground' }).waitFor()
    await window.page.goto(`${rig().app.url}/console/contacts`)
    await window.page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor()
    await window.page.getByText('Live', { exact: true }).waitFor()
    expect(await window.page.getByText('Ana Souza').count()).to.equal(0)
    await window.page.context().close()
  })

  it('emails a link to a forgotten password, and the page of the link sets another one', async () => {
    const window = await rig().open('/forgot-password', null)
    await window.page.getByLabel('Email').fill(rig().demo.email)
    await window.page.getByRole('button', { name: 'Email me a link' }).click()
    await window.page.getByText(/emailed a link/).waitFor()
    await window.page.goto(`${rig().app.url}/console/reset-password?token=unknown`)
    await window.page.getByLabel('New password').fill('another battery of horses 8')
    await window.page.getByRole('button', { name: 'Change the password' }).click()
    await window.page.getByRole('alert').waitFor()
    await window.page.context().close()
  })

  it('shows the sign-in at the same address when the session ends on the server', async () => {
    const session = await rig().app.signUp('Linus')
    const window = await rig().open('/runs', session)
    await window.page.getByText('Live', { exact: true }).waitFor()
    await rig().app.rest('POST', '/api/auth/sign-out', { session, body: {} })
    await window.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await waitUntil(() => window.page.url().endsWith('/console/runs'))
    await window.page.context().addCookies([toCookie(rig().demo, rig().app.url)])
    await window.page.reload()
    await window.page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
    await window.page.context().close()
  })
})
