import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import ts from 'typescript'
import { DEMO } from '../../../seeds/demo/ids.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import {
  expectAccessible,
  expectWithinWindow,
  startChromium,
  type TestChromium,
  type TestWindow,
} from '../../support/chromium.ts'
import { openDemoSession } from '../../support/demo-session.ts'
import { waitUntil } from '../../support/wait-until.ts'

const run = promisify(execFile)

/** With gzip, the OpenAPI document included. */
const BYTES_MAX = 130_000
const PAGE_BYTES_MAX = 24_000
const CPU_SECONDS_MAX = 1

describe('the API reference in a browser', function () {
  this.timeout(240_000)
  let app: TestApp
  let chromium: TestChromium | undefined
  let window: TestWindow
  let page: Page

  before(async function () {
    chromium = await startChromium()
    if (!chromium) this.skip()
    app = await startTestApp()
    await openDemoSession(app)
  })

  beforeEach(() => open())

  afterEach(async () => {
    expect(window.foreignRequests).to.deep.equal([])
    // Browsers report every answer that is an error.
    expect(window.complaints.filter((text) => !/status of 4\d\d/.test(text))).to.deep.equal([])
    await page.context().close()
  })

  after(async () => {
    await chromium?.stop()
    await app?.stop()
  })

  async function open(options: { width?: number; colorScheme?: 'light' | 'dark' } = {}): Promise<void> {
    const opened = await chromium?.open(app.url, { ...options, extraHTTPHeaders: { 'x-forwarded-for': newAddress() } })
    if (!opened) throw new Error('There is no browser')
    window = opened
    page = opened.page
    page.setDefaultTimeout(10_000)
  }

  async function show(id: string): Promise<void> {
    await page.goto(`${app.url}/docs#${id}`)
    await page.locator('#operation h3').first().waitFor()
  }

  async function signIn(email: string = DEMO.email, password: string = DEMO.password): Promise<void> {
    await page.getByRole('button', { name: 'Change access' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('You are signed in.').waitFor()
  }

  /** Sends the call and returns the line with its status and the shown body. */
  async function send(): Promise<{ line: string; body: string }> {
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const line = await page.locator('#result p').first().textContent()
    const body = page.locator('#result pre')
    return { line: line ?? '', body: (await body.count()) > 0 ? ((await body.textContent()) ?? '') : '' }
  }

  async function readSnippet(language: string): Promise<string> {
    await page.getByRole('tab', { name: language }).click()
    return (await page.locator('#snippet pre').textContent()) ?? ''
  }

  it('every operation and event is shown with its schemas, and its snippets are valid', async () => {
    await page.goto(`${app.url}/docs`)
    const shown = await page.evaluate<Record<string, Shown>>(SHOW_ALL)
    const { body: document } = await app.rest('GET', '/openapi.json')
    const operations = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap(Object.values)
    const events = Object.values<{ post: { operationId: string } }>(document.webhooks).map(({ post }) => post)
    expect(operations.length).to.be.greaterThan(200)
    expect(Object.keys(shown)).to.have.members([...operations, ...events].map(({ operationId }) => operationId))
    const problems = Object.entries(shown).flatMap(([id, { title, failures, snippets }]) => [
      ...(title === '' ? [`${id} has no title`] : []),
      ...failures.map((text) => `${id}: ${text}`),
      ...Object.entries(snippets).flatMap(([name, text]) =>
        findSyntaxProblem(name, text).map((why) => `${id}: ${why}`),
      ),
    ])
    expect(problems).to.deep.equal([])
    expect(shown['contacts.list']?.snippets['tRPC']).to.equal('const result = await parley.contacts.list.query()')
    const { stderr, status } = spawnSync('bash', ['-n'], {
      input: Object.values(shown)
        .map(({ snippets }) => snippets['curl'] ?? '')
        .join('\n'),
      encoding: 'utf8',
    })
    expect([status, stderr]).to.deep.equal([0, ''])
  })

  it('every reference of the OpenAPI document leads to a component', async () => {
    const { body: document } = await app.rest('GET', '/openapi.json')
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)]
    expect(references.length).to.be.greaterThan(1000)
    const missing = references.filter(([, kind = '', name = '']) => !document.components[kind]?.[name])
    expect(missing.map(([text]) => text)).to.deep.equal([])
  })

  it('Send after signing in returns contacts of the chosen workspace and the calls that are left', async () => {
    await show('contacts.list')
    await signIn()
    await page.getByLabel('limit').fill('2')
    const { line, body } = await send()
    expect(line).to.match(/^200 OK · \d+ ms · \d+ bytes · \d+ of 100 calls left$/)
    expect(JSON.parse(body).items.length).to.equal(2)
    expect(await readSnippet('curl'))
      .to.include(`-H 'x-tenant-id: ${DEMO.workspaceId}'`)
      .and.include('?limit=2')
    expect(await readSnippet('tRPC')).to.equal('const result = await parley.contacts.list.query({ limit: 2 })')
    await page.reload()
    await page.getByText(`signed in as ${DEMO.email}`).waitFor({ state: 'attached' })
  })

  it('the curl snippet, run in a shell, prints the body that Send shows, and the key is nowhere in the page', async () => {
    await show('contacts.list')
    await page.getByRole('button', { name: 'Change access' }).click()
    await page.getByLabel('or an API key').fill(DEMO.apiKey)
    await page.getByRole('button', { name: 'Use the key' }).click()
    await page.getByLabel('q', { exact: true }).fill('Mendes')
    const { line, body } = await send()
    expect(line).to.match(/^200 OK/)
    const env = { ...process.env, PARLEY_API_KEY: DEMO.apiKey }
    const { stdout } = await run('bash', ['-c', `${await readSnippet('curl')} -s`], { env })
    expect(JSON.parse(stdout)).to.deep.equal(JSON.parse(body))
    expect(JSON.parse(body).items[0].name).to.include('Mendes')
    expect(await page.content()).to.not.include(DEMO.apiKey)
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).to.equal('[{},{}]')
  })

  it('Send shows an error with a link to its explanation: without access, with a role and with an invalid input', async () => {
    await show('tags.create')
    expect((await send()).line).to.match(/^401 /)
    await expectErrorLink('unauthorized')
    const viewer = await app.join(DEMO.workspaceId, 'viewer')
    await signIn(viewer.email, viewer.password)
    // The account also has a workspace of its own.
    await page.getByLabel('Workspace').selectOption(DEMO.workspaceId)
    expect((await send()).line).to.match(/^403 /)
    await expectErrorLink('forbidden')
    await signIn()
    await page.locator('#body').fill('{"name": 5}')
    expect((await send()).line).to.match(/^400 /)
    await expectErrorLink('validation_failed')
  })

  async function expectErrorLink(code: string): Promise<void> {
    const link = page.locator('#result a')
    await link.getByText(code).waitFor()
    expect(await link.getAttribute('href')).to.equal(`/docs/errors#${code}`)
  }

  it('an operation that deletes is sent only after a confirmation', async () => {
    await show('tags.delete')
    const isCall = (url: string) => url.includes('/api/tags/')
    const button = page.getByRole('button', { name: 'Send', exact: true })
    await button.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(window.requests.filter(isCall)).to.deep.equal([])
    await button.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await page.locator('#result p').first().waitFor()
    expect(window.requests.filter(isCall).length).to.equal(1)
  })

  it('operations that may publish, start runs or shorten the retention ask first, one that changes a name does not', async () => {
    const question = page.getByText('asks before it calls the operation')
    for (const [id, count] of [
      ['workflows.upsert', 1],
      ['runs.signal', 1],
      ['contacts.import', 1],
      ['templates.submit', 1],
      ['workspace.setRetention', 1],
      ['tags.update', 0],
    ] as const) {
      await show(id)
      expect(await question.count(), id).to.equal(count)
    }
  })

  it('the keyboard alone finds an operation, chooses a snippet and sends the call', async () => {
    await page.goto(`${app.url}/docs`)
    await page.locator('#filter').press('Control+a')
    await page.keyboard.type('contacts.list')
    await page.getByText('2 found').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'List contacts' }).waitFor()
    expect(await page.evaluate('document.activeElement.id')).to.equal('operation')
    for (let n = 0; n < 20 && (await page.evaluate('document.activeElement.id')) !== 'tab-0'; n += 1) {
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('ArrowRight')
    expect(await page.getByRole('tab', { selected: true }).textContent()).to.equal('fetch')
    for (let n = 0; n < 5 && (await page.evaluate('document.activeElement.id')) !== 'send'; n += 1) {
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.locator('#result').getByText(/^401 /).waitFor()
  })

  for (const [colorScheme, width] of [
    ['light', 390],
    ['dark', 1280],
  ] as const) {
    it(`operations, open schemas, results and the question are accessible in ${colorScheme} colors at ${width} pixels`, async () => {
      await page.context().close()
      await open({ colorScheme, width })
      for (const id of ['contacts.list', 'workflows.create', 'tags.delete', 'webhooks.message.received']) {
        await show(id)
        await page.evaluate(OPEN_ALL)
        await expectAccessible(page)
        await expectWithinWindow(page)
      }
      await show('tags.delete')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await expectAccessible(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
      await page.locator('#result p').first().waitFor()
      await expectAccessible(page)
      await expectWithinWindow(page)
    })
  }

  it(`an operation is shown after ${BYTES_MAX} bytes, the list after ${PAGE_BYTES_MAX}, in ${CPU_SECONDS_MAX} s of processor time`, async () => {
    let bytes = 0
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    page.on('requestfinished', async (request) => {
      const { responseBodySize, responseHeadersSize } = await request.sizes()
      bytes += responseBodySize + responseHeadersSize
    })
    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' })
    expect(bytes).to.be.within(1000, PAGE_BYTES_MAX)
    await page.evaluate(`location.hash = '#workflows.create'`)
    await page.locator('#snippet').waitFor()
    // The sizes of a request are known a moment after it has finished.
    await waitUntil(() => bytes > PAGE_BYTES_MAX)
    await page.waitForLoadState('networkidle')
    expect(bytes).to.be.at.most(BYTES_MAX)
    expect(window.requests.length).to.equal(5)
    const { metrics } = await session.send('Performance.getMetrics')
    const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
    if (process.env['TEST_LOG'] === '1') process.stdout.write(`${bytes} bytes, ${seconds} s\n`)
    expect(seconds).to.be.within(0, CPU_SECONDS_MAX)
  })
})

type Shown = { title: string; failures: string[]; snippets: Record<string, string> }

/** Opens all details of the operation, and those in them, to a depth that a schema which contains itself exceeds. */
const OPEN_ALL = `(async () => {
  for (let depth = 0; depth < 3; depth += 1) {
    for (const details of document.querySelectorAll('#operation details:not([open])')) details.open = true
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
})()`

const SHOW_ALL = `(async () => {
  const shown = {}
  const article = document.querySelector('#operation')
  for (const link of document.querySelectorAll('.operations li a')) {
    article.replaceChildren()
    location.hash = link.hash
    while (!article.querySelector('h3')) await new Promise((resolve) => setTimeout(resolve, 0))
    await ${OPEN_ALL}
    const snippets = {}
    for (const tab of article.querySelectorAll('[role=tab]')) {
      tab.click()
      snippets[tab.textContent] = article.querySelector('#snippet code').textContent
    }
    const failures = [...article.querySelectorAll('.failure')].map((element) => element.textContent)
    shown[link.hash.slice(1)] = { title: article.querySelector('h2').textContent, failures, snippets }
  }
  return shown
})()`

/** Snippets of TypeScript are parsed only: their values are examples. */
function findSyntaxProblem(name: string, text: string): string[] {
  if (text === '') return [`${name} is empty`]
  if (name === 'curl') return []
  const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true })
  return diagnostics.map(({ messageText }) => `${name}: ${String(messageText)}\n${text}`)
}
