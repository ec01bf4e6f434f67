import { expect } from 'chai'
import { newAddress } from '../../support/app.ts'
import { expectAccessible, expectWithinWindow, type TestWindow } from '../../support/chromium.ts'
import { ConsoleRig, waitUntilLoaded } from '../../support/console.ts'

describe('the pages of the console', function () {
  this.timeout(240_000)
  let rig: ConsoleRig
  /** Paths of pages with data, each with a text that its data have. */
  let pages: [path: string, text: string | RegExp][]

  before(async function () {
    const started = await ConsoleRig.start()
    if (!started) return this.skip()
    rig = started
    const list = async (path: string) => (await rig.app.rest('GET', `/api${path}`, { session: rig.demo })).body.items
    const [run, other] = await list('/runs?limit=2')
    const [broadcast] = await list('/broadcasts')
    const workflows = await list('/workflows')
    const order = workflows.find(({ name }: { name: string }) => name === 'Order status')
    const [{ contactId }] = await list('/conversations?limit=1')
    pages = [
      [`/playground?contact=${run.contactId}`, 'Open the run'],
      ['/runs', run.workflowName],
      [`/runs/${run.id}`, run.workflowName],
      [`/runs/${run.id}/compare/${other.id}`, run.workflowName],
      ['/workflows', 'Order status'],
      ...['definition', 'versions', 'simulate', 'tests'].map((tab): [string, string] => [
        `/workflows/${order.id}?tab=${tab}`,
        'Order status',
      ]),
      ['/contacts', 'Ana Souza'],
      [`/contacts/${contactId}`, '+'],
      ['/broadcasts', broadcast.name],
      [`/broadcasts/${broadcast.id}`, broadcast.name],
      ['/no-such-page', 'There is no such page'],
    ]
  })

  after(() => rig?.stop())

  /** Each page has an address of its own, as one may ask for its session ten times a minute. */
  async function goTo({ page }: TestWindow, path: string): Promise<void> {
    await page.setExtraHTTPHeaders({ 'x-forwarded-for': newAddress() })
    await page.goto(`${rig.app.url}/console${path}`)
  }

  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    it(`are accessible in ${colorScheme} colors, within a window of ${width} pixels, without complaints and requests elsewhere`, async () => {
      const window = await rig.open('/playground', rig.demo, { width, colorScheme })
      for (const [path, text] of pages) {
        await goTo(window, path)
        await waitUntilLoaded(window)
        await window.page.getByText(text).filter({ visible: true }).first().waitFor()
        await expectWithinWindow(window.page)
        await expectAccessible(window.page)
        expect(window.complaints, path).to.deep.equal([])
        expect(window.foreignRequests, path).to.deep.equal([])
      }
      await window.page.context().close()
    })
  }

  it('teach one action where a new workspace has nothing', async () => {
    const session = await rig.app.signUp('Olga')
    const window = await rig.open('/playground', session)
    for (const path of ['/playground', '/runs', '/workflows', '/contacts', '/broadcasts']) {
      await goTo(window, path)
      await waitUntilLoaded(window)
      await window.page.locator('.empty').first().waitFor()
      await expectAccessible(window.page)
      expect(window.complaints, path).to.deep.equal([])
    }
    await window.page.context().close()
  })

  it('say so for an ID that does not exist', async () => {
    for (const path of ['/runs', '/workflows', '/contacts', '/broadcasts']) {
      const window = await rig.open(`${path}/0199c0de-0000-7000-8000-00000000dead`)
      await window.page.getByRole('alert').first().waitFor()
      await expectAccessible(window.page)
      await window.page.context().close()
    }
  })
})
