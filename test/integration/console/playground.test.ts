import { expect } from 'chai'
import type { TestWindow } from '../../support/chromium.ts'
import { ConsoleRig } from '../../support/console.ts'

const WITH_BUTTONS = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['book'] } }],
  steps: [
    {
      id: 'size',
      type: 'ask',
      message: {
        body: 'Which size?',
        buttons: [
          { id: 'small', title: 'Small' },
          { id: 'large', title: 'Large' },
        ],
      },
      saveAs: 'vars.size',
      timeout: '24h',
      onTimeout: 'late',
    },
    { id: 'done', type: 'send_message', message: { body: 'You chose {{vars.size}}.' }, next: 'end' },
    { id: 'late', type: 'send_message', message: { body: 'You took too long.' } },
  ],
}

/** One pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('the playground of the console', function () {
  this.timeout(120_000)
  let rig: ConsoleRig

  before(async function () {
    const started = await ConsoleRig.start()
    if (!started) return this.skip()
    rig = started
    const created = await rig.app.rest('POST', '/api/workflows', {
      session: rig.demo,
      body: { name: 'Sizes', definition: WITH_BUTTONS },
    })
    await rig.app.rest('POST', `/api/workflows/${created.body.id}/publish`, { session: rig.demo, body: {} })
  })

  after(() => rig?.stop())

  function findParts({ page }: TestWindow) {
    return {
      messages: page.getByRole('log', { name: 'Messages', exact: true }),
      input: page.getByLabel('Message of the customer'),
      graph: page.getByRole('region', { name: 'Graph of the workflow' }),
    }
  }

  async function write(window: TestWindow, text: string): Promise<void> {
    await findParts(window).input.fill(text)
    await window.page.keyboard.press('Enter')
  }

  it('answers a new customer, lights the path of the run and leads to it', async () => {
    const window = await rig.open('/playground?contact=new')
    const { messages, input, graph } = findParts(window)
    await input.waitFor()
    await window.page.waitForFunction(
      `document.activeElement?.getAttribute('aria-label') === 'Message of the customer'`,
    )
    await write(window, 'Where is my order?')
    await messages.getByText('What is your order number?').waitFor()
    await graph.getByRole('button', { name: /ask_number/ }).waitFor()
    await window.page.getByRole('button', { name: '4711' }).click()
    await messages.getByText('Order 4711 left our warehouse').waitFor()
    await graph.getByRole('button', { name: /Send message Done answer/ }).waitFor()
    await window.page.getByText('That was a run.').getByRole('link', { name: 'Open it' }).click()
    await window.page.getByRole('heading', { name: 'Order status', level: 1 }).waitFor()
    expect(window.complaints).to.deep.equal([])
    await window.page.context().close()
  })

  it('lets the customer tap a button, and shows to the business what was read', async () => {
    const window = await rig.open('/playground?contact=new')
    const { messages } = findParts(window)
    await write(window, 'I want to book')
    await messages.getByRole('button', { name: 'Large' }).click()
    await messages.getByText('You chose Large.').waitFor()
    await messages.getByText('read').nth(1).waitFor()
    expect(window.complaints).to.deep.equal([])
    await window.page.context().close()
  })

  it('sends a file of the customer', async () => {
    const window = await rig.open('/playground?contact=new')
    await findParts(window).input.waitFor()
    await window.page
      .locator('input[type=file]')
      .setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: PNG })
    await findParts(window).messages.getByRole('img', { name: 'photo.png' }).waitFor()
    expect(window.complaints).to.deep.equal([])
    await window.page.context().close()
  })

  it('moves the clock by 25 hours: the wait ends, and the window closes on the screen', async () => {
    const window = await rig.open('/playground?contact=new')
    const { messages } = findParts(window)
    await write(window, 'let us book')
    await messages.getByText('Which size?').waitFor()
    await window.page.getByText(/Window open for 23 h/).waitFor()
    await window.page.getByRole('button', { name: 'Move the clock +25 h' }).click()
    await window.page.getByText('Window closed').waitFor()
    await window.page
      .getByRole('region', { name: 'Workflow', exact: true })
      .getByText('waiting', { exact: true })
      .waitFor({ state: 'hidden' })
    expect(window.complaints).to.deep.equal([])
    await window.page.context().close()
  })

  it('shows in a second window what is written in the first', async () => {
    const { body } = await rig.app.rest('POST', '/api/sandbox/messages', {
      session: rig.demo,
      body: { phone: '+12025550199', body: 'hello' },
    })
    const first = await rig.open(`/playground?contact=${body.contactId}`)
    const second = await rig.open(`/playground?contact=${body.contactId}`)
    await findParts(second).messages.getByText('hello').waitFor()
    await write(first, 'Is anybody there?')
    await findParts(second).messages.getByText('Is anybody there?').waitFor()
    await first.page.context().close()
    await second.page.context().close()
  })
})
