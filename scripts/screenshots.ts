import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { readCommand } from '../src/platform/process/read-command.ts'
import { freePort } from '../test/support/free-port.ts'

readCommand(`Usage: npm run screenshots
Takes the pictures of the console in docs/images, with a server and a database of its own. It needs Chromium; CHROMIUM
names its program.`)

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const START_MAX_MS = 120_000

const folder = mkdtempSync(join(tmpdir(), 'parley-screenshots-'))
// A root process runs the database as another user, who needs to traverse this folder.
chmodSync(folder, 0o711)
const port = await freePort()
const url = `http://localhost:${port}`
const server = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
  cwd: ROOT,
  stdio: 'ignore',
  env: { ...process.env, PORT: String(port), DATA_DIR: folder },
})
let browser: Browser | undefined
try {
  await waitForServer()
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      locale: 'en-GB',
    })
    const page = await context.newPage()
    await takePictures(page, colorScheme)
    await context.close()
  }
} finally {
  await browser?.close()
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
}

async function takePictures(page: Page, theme: string): Promise<void> {
  const shoot = (name: string) => page.screenshot({ path: join(ROOT, `docs/images/console-${name}-${theme}.png`) })
  const messages = page.getByRole('log', { name: 'Messages', exact: true })
  await page.goto(`${url}/console/playground`)
  await page.getByRole('button', { name: 'Open the demo workspace' }).click()
  await page.getByLabel('Customer', { exact: true }).selectOption({ index: theme === 'light' ? 1 : 2 })
  await page.getByRole('button', { name: 'Where is my order?' }).click()
  await messages.getByText('What is your order number?').last().waitFor()
  await page.getByRole('button', { name: '4711' }).click()
  await messages.getByText('Order 4711 left our warehouse').last().waitFor()
  await page.getByText('completed').first().waitFor()
  // The run has ended; the toast that says so is not part of the picture.
  await page.locator('.toasts > *').first().waitFor()
  await page.locator('.toasts > *').first().waitFor({ state: 'detached' })
  await shoot('playground')
  await page.getByRole('link', { name: 'Open the run' }).click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await delay(1_000)
  await shoot('run')
}

async function waitForServer(): Promise<void> {
  const deadline = performance.now() + START_MAX_MS
  const isUp = () =>
    fetch(`${url}/console`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isUp())) {
    if (performance.now() > deadline) throw new Error('The server does not start')
    await delay(200)
  }
}
