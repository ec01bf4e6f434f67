import { expect } from 'chai'
import { newAddress } from '../../support/app.ts'
import { expectAccessible, expectWithinWindow, type TestWindow } from '../../support/chromium.ts'
import { LOAD_CALLS_MAX, prepareRig, listCalls, repeatLoad, waitUntilLoaded } from '../../support/console.ts'
import { waitUntil } from '../../support/wait-until.ts'

const IDLE_MS = 10_000
const LISTS = ['/runs', '/workflows', '/contacts', '/broadcasts']

describe('the phone beside the pages of the console', function () {
  this.timeout(180_000)
  const rig = prepareRig()

  function findParts({ page }: TestWindow) {
    return {
      dock: page.getByRole('complementary', { name: 'Phone', exact: true }),
      input: page.getByLabel('Message of the customer'),
      button: page.getByRole('button', { name: 'Phone', exact: false }).filter({ hasText: /^Phone/ }),
    }
  }

  const isTyping = ({ page }: TestWindow) =>
    page.evaluate<boolean>(`document.activeElement?.getAttribute('aria-label') === 'Message of the customer'`)

  it('is opened by p, writes as a customer while the list of runs follows, and is closed by Escape', async () => {
    const window = await rig().open('/runs')
    const { page } = window
    const { dock, input } = findParts(window)
    await waitUntilLoaded(window)
    await page.keyboard.press('p')
    await dock.waitFor()
    await waitUntil(() => isTyping(window))
    await page.getByRole('combobox', { name: 'Customer' }).selectOption('new')
    await input.fill('Where is my order?')
    await page.keyboard.press('Enter')
    await dock.getByRole('log', { name: 'Messages' }).getByText('What is your order number?').waitFor()
    await page.getByRole('region', { name: 'Table of runs' }).getByText('for a reply').first().waitFor()
    expect(new URL(page.url()).pathname).to.equal('/console/runs')
    await input.focus()
    await page.keyboard.type('p')
    expect(await input.inputValue()).to.equal('p')
    await page.keyboard.press('Escape')
    await dock.waitFor({ state: 'hidden' })
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('stays on the next page and after a reload without taking the focus, and p and its button close it', async () => {
    const window = await rig().open('/contacts')
    const { page } = window
    const { dock, button } = findParts(window)
    await waitUntilLoaded(window)
    await button.first().click()
    await dock.waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Broadcasts' }).click()
    await page.getByRole('heading', { name: 'Broadcasts', level: 1 }).waitFor()
    await dock.waitFor()
    await page.reload()
    await waitUntilLoaded(window)
    await dock.getByLabel('Message of the customer').waitFor()
    expect(await isTyping(window)).to.equal(false)
    await page.keyboard.press('p')
    await dock.waitFor({ state: 'hidden' })
    await page.keyboard.press('p')
    await dock.getByRole('button', { name: 'Close the phone' }).click()
    await dock.waitFor({ state: 'hidden' })
    await page.context().close()
  })

  it('is not beside the playground, where p leads to its phone, and is in the search and in the list of keys', async () => {
    const window = await rig().open('/playground')
    const { page } = window
    const { dock, input } = findParts(window)
    await waitUntilLoaded(window)
    await page.getByRole('heading', { name: 'Playground', level: 1 }).click()
    await page.keyboard.press('p')
    await waitUntil(() => isTyping(window))
    expect(await dock.count()).to.equal(0)
    expect(await input.count()).to.equal(1)
    await page.getByRole('heading', { name: 'Playground', level: 1 }).click()
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.getByRole('heading', { name: 'Workflows', level: 1 }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Open or close the phone').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /^Search pages/ }).fill('phone')
    await page.getByRole('option', { name: /Phone: write as a customer/ }).waitFor()
    await page.keyboard.press('Enter')
    await dock.waitFor()
    await waitUntil(() => isTyping(window))
    await page.context().close()
  })

  it('asks for nothing in ten seconds in which nothing happens', async () => {
    const window = await rig().open('/runs')
    await waitUntilLoaded(window)
    await window.page.keyboard.press('p')
    await findParts(window).dock.getByRole('log', { name: 'Messages' }).waitFor()
    await waitUntilLoaded(window)
    const count = window.requests.length
    await window.page.waitForTimeout(IDLE_MS)
    expect(window.requests.slice(count)).to.deep.equal([])
    await window.page.context().close()
  })

  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    it(`is accessible in ${colorScheme} colors within a window of ${width} pixels, and a list loads with it by at most four calls`, async () => {
      const window = await rig().open('/runs', rig().demo, { width, colorScheme })
      const { page } = window
      await waitUntilLoaded(window)
      await page.keyboard.press('p')
      await findParts(window).dock.waitFor()
      const { items } = (await rig().app.rest('GET', '/api/runs?status=completed&limit=1', { session: rig().demo }))
        .body
      const [{ id, contactId, workflowId }] = items
      for (const path of [...LISTS, `/runs/${id}`, `/contacts/${contactId}`, `/workflows/${workflowId}`]) {
        const load = async () => {
          await page.setExtraHTTPHeaders({ 'x-forwarded-for': newAddress() })
          window.requests.length = 0
          await page.goto(`${rig().app.url}/console${path}`)
          await findParts(window).dock.getByRole('log', { name: 'Messages' }).waitFor()
          await waitUntilLoaded(window)
          return listCalls(window).filter((url) => !url.includes('sandbox.markRead'))
        }
        const reads = await (LISTS.includes(path) ? repeatLoad(load) : load())
        if (LISTS.includes(path)) expect(reads.length, reads.join('\n')).to.be.at.most(LOAD_CALLS_MAX)
        await expectWithinWindow(page)
        await expectAccessible(page)
      }
      expect(window.complaints).to.deep.equal([])
      expect(window.foreignRequests).to.deep.equal([])
      await page.context().close()
    })
  }
})
