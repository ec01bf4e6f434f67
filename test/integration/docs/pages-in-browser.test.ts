import { expect } from 'chai'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { expectAccessible, expectWithinWindow, startChromium, type TestChromium } from '../../support/chromium.ts'
import { listDocuments } from '../../support/documents.ts'

const PATHS = [
  '/docs',
  '/docs/errors',
  '/docs/nothing',
  ...listDocuments()
    .filter(({ path }) => path.startsWith('docs/') && !/docs\/adr\/\d/.test(path) && path !== 'docs/errors.md')
    .map(({ path }) => `/${path.replace(/(?:\/README)?\.md$/, '')}`),
  '/docs/adr/0001-tables-are-the-source-of-truth',
]

/** Requests of a page: itself, its style and its script. */
const REQUESTS = 3

describe('the documentation in a browser', function () {
  this.timeout(240_000)
  let app: TestApp
  let chromium: TestChromium | undefined

  before(async function () {
    chromium = await startChromium()
    if (!chromium) this.skip()
    app = await startTestApp()
  })

  after(async () => {
    await chromium?.stop()
    await app?.stop()
  })

  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    it(`every page is accessible in ${colorScheme} colors, within a window of ${width} pixels, and loads ${REQUESTS} files of this server beside its pictures`, async () => {
      expect(PATHS.length).to.be.greaterThan(20)
      for (const path of PATHS) {
        const extraHTTPHeaders = { 'x-forwarded-for': newAddress() }
        const window = await chromium?.open(app.url, { width, colorScheme, extraHTTPHeaders })
        if (!window) return
        await window.page.goto(app.url + path)
        await expectWithinWindow(window.page)
        await expectAccessible(window.page)
        const pictures = await window.page.locator('main img').count()
        expect(window.requests.length, path).to.equal(REQUESTS + pictures)
        expect(window.foreignRequests, path).to.deep.equal([])
        const allowed = path === '/docs/nothing' ? 1 : 0
        expect(window.complaints.length, window.complaints.join()).to.equal(allowed)
        await window.page.context().close()
      }
    })
  }

  it('the button of a session copies its commands without their output', async () => {
    const window = await chromium?.open(app.url, {
      permissions: ['clipboard-read', 'clipboard-write'],
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
    })
    const page = window?.page
    await page?.goto(`${app.url}/docs/tutorial`)
    await page?.locator('.code:has([data-language=console])').nth(2).getByRole('button').click()
    const copied = await page?.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).to.equal('api /workflows --json @docs/examples/visits.json')
  })
})
