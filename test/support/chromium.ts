import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { expect } from 'chai'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** A window of its own with no cookies, and what it reports while it is used. */
export type TestWindow = {
  page: Page
  /** Errors and warnings of the console, errors of the page and violations of its content security policy. */
  complaints: string[]
  /** Addresses of all requests, in order. */
  requests: string[]
  /** Addresses of requests to other servers than that of the page. */
  foreignRequests: string[]
}

type WindowOptions = Pick<
  BrowserContextOptions,
  'colorScheme' | 'extraHTTPHeaders' | 'storageState' | 'permissions'
> & {
  width?: number
  height?: number
}

/** A browser of one test file. */
export type TestChromium = {
  /** Opens a window whose pages belong to an origin, such as the URL of a test app. */
  open(origin: string, options?: WindowOptions): Promise<TestWindow>
  /** Closes the browser with its windows. */
  stop(): Promise<void>
}

/** `CHROMIUM` names another program. */
const PLACES = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Returns undefined where Chromium is not installed, which is an error if CI is set: tests must not be skipped there. */
export async function startChromium(): Promise<TestChromium | undefined> {
  const executablePath = PLACES.find((path) => existsSync(path))
  if (executablePath === undefined) {
    if (process.env['CI']) throw new Error('Chromium is not installed, and CI must not skip the tests that need it')
    process.stderr.write('\n  !!! SKIPPED: no Chromium, so the tests of pages are skipped\n\n')
    return undefined
  }
  // The sandbox of Chromium refuses root, and containers have little shared memory.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  return { open: (origin, options) => openWindow(browser, origin, options), stop: () => browser.close() }
}

async function openWindow(browser: Browser, origin: string, options: WindowOptions = {}): Promise<TestWindow> {
  const { width = 1280, height = 800, ...others } = options
  const context = await browser.newContext({
    viewport: { width, height },
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...others,
  })
  const page = await context.newPage()
  const window: TestWindow = { page, complaints: [], requests: [], foreignRequests: [] }
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) window.complaints.push(message.text())
  })
  page.on('pageerror', (error) => window.complaints.push(String(error)))
  page.on('request', (request) => {
    const url = request.url()
    window.requests.push(url)
    const isLocal = /^(?:data|blob|about):/.test(url) || new URL(url).origin === new URL(origin).origin
    if (!isLocal) window.foreignRequests.push(url)
  })
  return window
}

/** The rules of WCAG 2.2 A and AA, and the best practices of axe. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/**
 * Expects that axe finds no violation in the page as it is. What runs in the page is text here, as the types of the project
 * do not have those of browsers.
 */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const violations = await page.evaluate<string[]>(`axe.run({ runOnly: ${JSON.stringify(RULES)} }).then((found) =>
    found.violations.flatMap(({ id, nodes }) => nodes.map(({ html, target, failureSummary }) =>
      id + ' at ' + target.join(' ') + ': ' + html.slice(0, 200) + '\\n' + failureSummary)))`)
  expect(violations, page.url()).to.deep.equal([])
}

/** Expects that no element reaches beyond the window, unless it scrolls inside an element that does not. */
export async function expectWithinWindow(page: Page): Promise<void> {
  const outside = await page.evaluate<string[]>(`(() => {
    const isScrolled = (element) => {
      for (let parent = element.parentElement; parent && parent !== document.body; parent = parent.parentElement)
        if (getComputedStyle(parent).overflowX !== 'visible') return true
      return false
    }
    return [...document.body.querySelectorAll('*')]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const { left, right, width, height } = element.getBoundingClientRect()
        return width > 1 && height > 1 && (right > innerWidth + 1 || left < -1) && !isScrolled(element)
      })
      .map((element) => element.outerHTML.slice(0, 120))
  })()`)
  expect(outside.slice(0, 10), page.url()).to.deep.equal([])
  const widths = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]')
  expect(widths[0], `width of ${page.url()}`).to.be.at.most(widths[1] ?? 0)
}
