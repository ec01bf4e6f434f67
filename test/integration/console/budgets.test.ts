import { gzipSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { findConsoleFiles } from '../../../src/http/console-files.ts'
import { prepareRig, waitUntilLoaded } from '../../support/console.ts'

const KIB = 1024
const CPU_MAX_SECONDS = 0.8
const SHIFT_MAX = 0.02

type Chunk = { file: string; imports?: string[]; css?: string[] }

/** The size of the files that a page loads: those of its modules, and what they import. */
async function measurePage(modules: string[]): Promise<number> {
  const files = new Map((await findConsoleFiles()).map(({ path, file }) => [path, file]))
  const manifest: Record<string, Chunk> = JSON.parse(readFileSync(files.get('.vite/manifest.json') ?? '', 'utf8'))
  const names = new Set<string>()
  const add = (key: string): void => {
    const chunk = manifest[key]
    if (!chunk) throw new Error(`The manifest has no ${key}`)
    if (names.has(chunk.file)) return
    for (const name of [chunk.file, ...(chunk.css ?? [])]) names.add(name)
    chunk.imports?.forEach(add)
  }
  modules.forEach(add)
  const sizes = [...names].map((name) => gzipSync(readFileSync(files.get(name) ?? ''), { level: 9 }).length)
  return sizes.reduce((total, size) => total + size, 0) / KIB
}

describe('the budgets of the console', function () {
  this.timeout(120_000)
  const rig = prepareRig()

  it('the frame of all pages has at most 115 KB, pages without a graph 125 and those with one 210, compressed', async () => {
    expect(await measurePage(['index.html'])).to.be.at.most(115)
    for (const page of [
      'runs/runs-page',
      'contacts/contacts-page',
      'contacts/contact-page',
      'broadcasts/broadcast-page',
    ])
      expect(await measurePage(['index.html', `${page}.tsx`]), page).to.be.at.most(125)
    for (const page of ['playground/playground-page', 'runs/run-page', 'workflows/workflow-page'])
      expect(await measurePage(['index.html', `${page}.tsx`, 'graph/workflow-graph.tsx']), page).to.be.at.most(210)
  })

  it(`a page needs at most ${CPU_MAX_SECONDS} s of processor time to load, and nothing moves while it does`, async () => {
    for (const [path, phone] of [
      ['/playground', 'closed'],
      ['/runs', 'closed'],
      ['/contacts', 'closed'],
      ['/contacts', 'open'],
    ] as const) {
      const window = await rig().open('/no-such-page')
      await window.page.getByText('Live', { exact: true }).waitFor()
      const devtools = await window.page.context().newCDPSession(window.page)
      await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
      const readSeconds = async () => {
        const { metrics } = await devtools.send('Performance.getMetrics')
        return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
      }
      await window.page.addInitScript(`
        if ('${phone}' === 'open') localStorage.setItem('parley phone', 'open')
        globalThis.shift = 0
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value
        }).observe({ type: 'layout-shift', buffered: true })`)
      const before = await readSeconds()
      await window.page.goto(`${rig().app.url}/console${path}`)
      await waitUntilLoaded(window)
      const seconds = await readSeconds()
      expect(seconds < before ? seconds : seconds - before, path).to.be.at.most(CPU_MAX_SECONDS)
      expect(await window.page.evaluate<number>('globalThis.shift'), path).to.be.at.most(SHIFT_MAX)
      const phones = await window.page.getByLabel('Message of the customer').count()
      expect(phones).to.equal(phone === 'open' || path === '/playground' ? 1 : 0)
      await window.page.context().close()
    }
  })
})
