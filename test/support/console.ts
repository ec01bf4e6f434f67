import { EventEmitter, once } from 'node:events'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/platform/time.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from './app.ts'
import { startChromium, type TestChromium, type TestWindow } from './chromium.ts'
import { openDemoSession } from './demo-session.ts'
import { freePort } from './free-port.ts'
import { repeatUntil, waitUntil } from './wait-until.ts'

type WindowOptions = NonNullable<Parameters<TestChromium['open']>[1]>

/** An app with the demo workspace, and a browser. */
export class ConsoleRig {
  readonly app: TestApp
  /** The owner of the demo workspace. */
  readonly demo: TestSession
  readonly #chromium: TestChromium

  private constructor(app: TestApp, demo: TestSession, chromium: TestChromium) {
    this.app = app
    this.demo = demo
    this.#chromium = chromium
  }

  /** Returns undefined where Chromium is not installed. */
  static async start(): Promise<ConsoleRig | undefined> {
    const chromium = await startChromium()
    if (!chromium) return undefined
    const port = String(await freePort())
    const app = await startTestApp({ PORT: port, APP_ORIGINS: `http://127.0.0.1:${port}` }, systemClock)
    const demo = await openDemoSession(app)
    // The first request builds the files.
    await app.rest('GET', '/console')
    return new ConsoleRig(app, demo, chromium)
  }

  /** Opens a window at a path of the console, with a session if there is one. */
  async open(
    path: string,
    session: TestSession | null = this.demo,
    { url = this.app.url, ...options }: WindowOptions & { url?: string } = {},
  ): Promise<TestWindow> {
    const window = await this.#chromium.open(url, {
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
      ...options,
    })
    if (session) await window.page.context().addCookies([toCookie(session, url)])
    await window.page.goto(`${url}/console${path}`)
    return window
  }

  async stop(): Promise<void> {
    await this.#chromium.stop()
    await this.app.stop()
  }
}

/** Starts a console before the tests of a suite and stops it after them. Without Chromium they are skipped. */
export function prepareRig(): () => ConsoleRig {
  let rig: ConsoleRig | undefined
  before(async function () {
    rig = await ConsoleRig.start()
    if (!rig) this.skip()
  })
  after(() => rig?.stop())
  return () => {
    if (!rig) throw new Error('The console is not started')
    return rig
  }
}

export function toCookie({ cookie }: TestSession, url: string) {
  const [name = '', value = ''] = cookie.split('=')
  return { name, value: decodeURIComponent(value), url, secure: true, httpOnly: true }
}

/** Addresses of the calls of procedures, without the stream of events. */
export function listCalls({ requests }: TestWindow): string[] {
  return requests.filter((url) => new URL(url).pathname.startsWith('/trpc') && !url.includes('events.follow'))
}

/** The most calls with which a page loads. */
export const LOAD_CALLS_MAX = 4

/**
 * Loads a page again while it takes more calls, and returns those of the last time. A busy machine may follow events later
 * than it reads, and then reads once more, as it may have missed some.
 */
export function repeatLoad(load: () => Promise<string[]>): Promise<string[]> {
  return repeatUntil(load, ({ length }) => length <= LOAD_CALLS_MAX)
}

/** Time without a request after which a page has loaded. The stream of events never ends. */
const QUIET_MS = 500

/** Waits until a page is live and has loaded what it shows. */
export async function waitUntilLoaded({ page, requests }: TestWindow): Promise<void> {
  await page.getByText('Live', { exact: true }).waitFor()
  let [count, sinceMs] = [requests.length, performance.now()]
  await waitUntil(() => {
    if (requests.length !== count) [count, sinceMs] = [requests.length, performance.now()]
    return performance.now() - sinceMs >= QUIET_MS
  })
}

/**
 * Passes the calls of a procedure on to the server, where they have arrived once `arrived` resolves, and keeps their answers
 * back until `deliver` is called.
 */
export async function keepAnswers(
  page: Page,
  procedure: string,
): Promise<{ arrived: Promise<unknown>; deliver: () => void }> {
  const events = new EventEmitter()
  const [arrived, delivered] = [once(events, 'arrive'), once(events, 'deliver')]
  await page.route(`**/trpc/${procedure}*`, async (route) => {
    const response = await route.fetch()
    events.emit('arrive')
    await delivered
    await route.fulfill({ response })
  })
  return { arrived, deliver: () => events.emit('deliver') }
}
