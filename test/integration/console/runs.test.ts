import { expect } from 'chai'
import { expectAccessible, expectWithinWindow, type TestWindow } from '../../support/chromium.ts'
import { ConsoleRig, LOAD_CALLS_MAX, listCalls, repeatLoad, waitUntilLoaded } from '../../support/console.ts'
import { waitUntil } from '../../support/wait-until.ts'

const FAILED_SHOWN = 5

/** Says how it ends by what the customer writes. */
function toDefinition(greeting: string, more: object[] = []) {
  return {
    version: 1,
    triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['endings'] } }],
    steps: [
      { id: 'greet', type: 'send_message', message: { body: greeting } },
      ...more,
      {
        id: 'choose',
        type: 'branch',
        cases: [{ name: 'bad', if: { left: '{{message.body}}', op: 'contains', right: 'bad' }, next: 'give_up' }],
        else: 'end',
      },
      { id: 'give_up', type: 'stop', status: 'failed', reason: 'A bad ending was asked for' },
    ],
  }
}

const BREAKDOWN = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['breakdown'] } }],
  steps: [{ id: 'stop', type: 'stop', status: 'failed', reason: 'It broke down' }],
}

describe('the runs on the console', function () {
  this.timeout(120_000)
  let rig: ConsoleRig
  let workflowId: string

  before(async function () {
    const started = await ConsoleRig.start()
    if (!started) return this.skip()
    rig = started
    workflowId = await publish('Endings', toDefinition('Hello'))
    const breakdownId = await publish('Breakdown', BREAKDOWN)
    for (let run = 0; run <= FAILED_SHOWN; run += 1) await write('breakdown')
    await waitUntil(async () => (await listRuns(`workflowId=${breakdownId}&status=failed`)).total > FAILED_SHOWN)
  })

  after(() => rig?.stop())

  async function call(method: string, path: string, body?: object) {
    const answer = await rig.app.rest(method, `/api${path}`, { session: rig.demo, ...(body ? { body } : {}) })
    expect(answer.status, path).to.be.below(300)
    return answer.body
  }

  async function publish(name: string, definition: object): Promise<string> {
    const { id } = await call('POST', '/workflows', { name, definition })
    await call('POST', `/workflows/${id}/publish`, {})
    return id
  }

  const write = (body: string) => call('POST', '/sandbox/messages', { phone: '+12025550170', name: 'Yara', body })
  const listRuns = (query: string) => call('GET', `/runs?${query}`)

  async function waitForRuns(status: string, count: number): Promise<void> {
    await waitUntil(async () => (await listRuns(`workflowId=${workflowId}&status=${status}`)).total === count)
  }

  /** The IDs of the runs in the groups of the table. */
  function readGroups({ page }: TestWindow): Promise<string[][]> {
    return page.evaluate<string[][]>(`[...document.querySelectorAll('table.runs tbody')].map((group) =>
      [...group.querySelectorAll('a.open')].map(({ href }) => href.split('/').at(-1)))`)
  }

  it('list the newest failed runs first and each run once, with at most four calls, and lead to all that failed', async () => {
    const failed = await listRuns(`status=failed,expired&limit=${FAILED_SHOWN}`)
    const all = await listRuns('limit=50')
    expect(failed.total).to.be.above(FAILED_SHOWN)
    const window = await rig.open('/runs')
    const calls = await repeatLoad(async () => {
      window.requests.length = 0
      await window.page.reload()
      await waitUntilLoaded(window)
      return listCalls(window)
    })
    expect(calls.length, calls.join('\n')).to.be.at.most(LOAD_CALLS_MAX)
    const toIds = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id)
    const others = toIds(all).filter((id) => !toIds(failed).includes(id))
    expect(await readGroups(window)).to.deep.equal([toIds(failed), others])
    await window.page.getByText(`${all.total.toLocaleString('en-US')} runs`, { exact: true }).waitFor()
    await window.page.getByRole('link', { name: `Show all ${failed.total}` }).click()
    await waitUntil(async () => (await readGroups(window)).flat().length === Math.min(50, failed.total))
    expect((await readGroups(window)).length).to.equal(1)
    expect(window.complaints).to.deep.equal([])
    await window.page.context().close()
  })

  it('are reached by j and k through both groups, and opened by Enter', async () => {
    const window = await rig.open('/runs')
    const { page } = window
    await waitUntilLoaded(window)
    const [failed = [], others = []] = await readGroups(window)
    for (const _ of failed) await page.keyboard.press('j')
    await page.keyboard.press('j')
    const readFocused = () => page.evaluate<string>(`document.activeElement.href?.split('/').at(-1)`)
    expect(await readFocused()).to.equal(others[0])
    await page.keyboard.press('k')
    expect(await readFocused()).to.equal(failed.at(-1))
    await page.keyboard.press('Enter')
    await waitUntil(() => page.url().endsWith(`/runs/${failed.at(-1)}`))
    await page.context().close()
  })

  it('that fail appear among the failed ones while the list is shown, also with filters', async () => {
    const window = await rig.open(`/runs?workflow=${workflowId}`)
    await window.page.getByText('No run matches').waitFor()
    await write('endings, a good one')
    await waitForRuns('completed', 1)
    await window.page.getByText('1 run', { exact: true }).waitFor()
    expect((await readGroups(window)).map(({ length }) => length)).to.deep.equal([1])
    await write('endings, a bad one')
    await waitForRuns('failed', 1)
    await window.page.getByText('A bad ending was asked for').waitFor()
    await waitUntil(async () => (await readGroups(window)).length === 2)
    const [[first] = []] = await readGroups(window)
    expect(first).to.equal((await listRuns(`workflowId=${workflowId}&status=failed`)).items[0].id)
    await expectAccessible(window.page)
    await window.page.context().close()
  })

  it('are compared with a replay as two timelines with one row for each step, in which differences have a sign and words', async () => {
    await write('endings, to be compared')
    await waitUntil(async () => (await listRuns(`workflowId=${workflowId}&status=completed`)).total >= 1)
    const [original] = (await listRuns(`workflowId=${workflowId}&status=completed`)).items
    await call('PATCH', `/workflows/${workflowId}`, {
      definition: toDefinition('Good day', [{ id: 'extra', type: 'send_message', message: { body: 'One more' } }]),
    })
    await call('POST', `/workflows/${workflowId}/publish`, {})
    const replay = await call('POST', `/runs/${original.id}/replay`, {
      mode: 'dry_run',
      version: 'published',
      from: 'start',
    })
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
    ] as const) {
      const window = await rig.open(`/runs/${original.id}/compare/${replay.id}`, rig.demo, { width, colorScheme })
      const { page } = window
      const rows = page.getByRole('listbox', { name: 'Steps' }).getByRole('option')
      await rows.first().waitFor()
      expect(await rows.count()).to.equal(3)
      const texts = await rows.allInnerTexts()
      expect(texts[0]).to.match(/≠[^]*other (?:input|output)/)
      expect(texts[1]).to.match(/not reached[^]*≠[^]*only in the second run/)
      expect(texts[2]).to.match(/same/)
      expect(await page.locator('.compare .lane .bar').count()).to.equal(5)
      const [first, second] = [
        await rows.first().locator('.track').first().boundingBox(),
        await rows.first().locator('.track').last().boundingBox(),
      ]
      if (!first || !second) throw new Error('The row has no tracks')
      expect(first.width).to.be.closeTo(second.width, 1)
      expect(
        width === 1440 ? first.x < second.x && first.y === second.y : first.x === second.x && first.y < second.y,
      ).to.equal(true)
      await page.keyboard.press('f')
      await waitUntil(async () => (await rows.count()) === 2)
      await page.keyboard.press('j')
      await page.getByRole('heading', { name: 'Output of “extra”' }).waitFor()
      await expectWithinWindow(page)
      await expectAccessible(page)
      expect(window.complaints).to.deep.equal([])
      await page.context().close()
    }
  })
})
