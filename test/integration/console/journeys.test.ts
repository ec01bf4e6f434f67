import { expect } from 'chai'
import { prepareRig, waitUntilLoaded } from '../../support/console.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('journeys on the console', function () {
  this.timeout(120_000)
  const rig = prepareRig()

  const read = async (path: string) => (await rig().app.rest('GET', `/api${path}`, { session: rig().demo })).body

  it('lead from the failed runs to the step that failed, to a replay and to what it did in another way', async () => {
    const window = await rig().open('/runs')
    const { page } = window
    await page.getByRole('region', { name: 'Table of runs' }).waitFor()
    await page.keyboard.press('f')
    await waitUntil(() => page.url().includes('status=failed'))
    await page.getByRole('region', { name: 'Table of runs' }).getByRole('link').first().click()
    await page.getByRole('listbox', { name: 'Steps' }).waitFor()
    await page.getByText('too old to be looked up').first().waitFor()
    await page.getByRole('button', { name: 'Replay…', exact: true }).click()
    await page
      .getByRole('dialog', { name: 'Replay the run' })
      .getByRole('button', { name: 'Start the dry run' })
      .click()
    await page.getByRole('main').getByRole('link', { name: 'Compare with the original' }).click()
    await page.getByRole('heading', { name: /\d+ of \d+ steps are the same/ }).waitFor()
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('explain why a message of a run was sent', async () => {
    const { items } = await read('/runs?status=completed&limit=20')
    const run = items.find(({ sentMessageCount }: { sentMessageCount: number }) => sentMessageCount > 0)
    const window = await rig().open(`/runs/${run.id}?tab=why`)
    await window.page.getByRole('list', { name: 'Causes and effects' }).getByRole('listitem').nth(2).waitFor()
    await window.page.context().close()
  })

  it('make a workflow: a mistake is shown at its step, the draft is published, simulated and tested', async () => {
    const window = await rig().open('/workflows')
    const { page } = window
    await page.getByRole('button', { name: 'New workflow' }).click()
    await page.getByLabel('Order status').check()
    await page.getByRole('textbox', { name: 'Name' }).fill('Where it is')
    await page.getByRole('button', { name: 'Create workflow' }).click()
    await page.getByRole('heading', { name: 'Where it is', level: 1 }).waitFor()
    const json = page.getByRole('textbox', { name: 'Definition of the draft as JSON' })
    const text = await json.inputValue()
    await json.fill(text.replaceAll(/"type": "send_message"/g, '"type": "send_mesage"'))
    await page.getByRole('list', { name: 'Errors' }).getByRole('button').first().waitFor()
    await json.fill(text)
    await page.getByRole('list', { name: 'Errors' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Publish', exact: true }).first().click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Note' }).fill('first')
    await page.getByRole('dialog').getByRole('button', { name: 'Publish', exact: true }).click()
    await page.getByText('Live v1').first().waitFor()
    await page.getByRole('link', { name: 'Simulate' }).click()
    await page.getByRole('textbox', { name: 'Message of the customer' }).fill('Where is my order?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('region', { name: 'Outcome' }).waitFor()
    await page.getByRole('button', { name: 'Save as test' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('asks for the number')
    await page.getByRole('dialog').getByRole('button', { name: /save/i }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'Tests' }).click()
    await page.getByRole('button', { name: 'Run all' }).click()
    await page.getByText('1 passed, 0 failed').waitFor()
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('answer a customer as a member, with a draft that survives a reload, and say when the window is closed', async () => {
    const { body } = await rig().app.rest('POST', '/api/sandbox/messages', {
      session: rig().demo,
      body: { phone: '+12025550160', name: 'Walter', body: 'Good evening' },
    })
    const window = await rig().open('/contacts?q=Walter')
    const { page } = window
    await page.getByRole('link', { name: 'Walter' }).click()
    await page.getByRole('textbox', { name: 'Reply' }).fill('Good evening, Walter')
    await page.reload()
    await waitUntil(
      async () => (await page.getByRole('textbox', { name: 'Reply' }).inputValue()) === 'Good evening, Walter',
    )
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const messages = page.getByRole('log', { name: 'Messages' })
    await messages.getByText('Good evening, Walter').waitFor()
    // It is shown before the server has it, which refuses it once the window is closed.
    await messages.getByRole('article', { name: 'Being sent' }).waitFor({ state: 'hidden' })
    await rig().app.rest('POST', `/api/sandbox/conversations/${body.conversationId}/advance`, {
      session: rig().demo,
      body: { seconds: 90_000 },
    })
    await page.getByRole('note', { name: 'Closed window' }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Reply' }).count()).to.equal(0)
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('say why no workflow started for a message', async () => {
    const { body } = await rig().app.rest('POST', '/api/sandbox/messages', {
      session: rig().demo,
      body: { phone: '+12025550161', name: 'Xenia', body: 'nothing that matches' },
    })
    const workflows = await read('/workflows')
    const { id } = workflows.items.find(({ name }: { name: string }) => name === 'Order status')
    const window = await rig().open(`/contacts/${body.contactId}?tab=reasons&workflow=${id}`)
    const events = window.page.getByRole('list', { name: 'Events that did not start the workflow' })
    await events.getByRole('listitem').first().waitFor()
    await window.page.context().close()
  })

  it('resume a paused broadcast, whose cells follow', async () => {
    const { items } = await read('/broadcasts')
    const paused = items.find(({ status }: { status: string }) => status === 'paused')
    const window = await rig().open(`/broadcasts/${paused.id}`)
    const { page } = window
    await page.getByRole('note', { name: 'Why it is paused' }).waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('completed', { exact: true }).first().waitFor({ timeout: 60_000 })
    await page
      .getByRole('group', { name: /^Recipients/ })
      .getByRole('button', { name: /: (?:sent|delivered|read)$/ })
      .first()
      .waitFor()
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('need no mouse: search, open, move through the steps and return, with the focus where it was', async () => {
    const window = await rig().open('/contacts')
    const { page } = window
    await waitUntilLoaded(window)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /^Search pages/ }).waitFor()
    await page.keyboard.type('Order st')
    await page.getByRole('option', { name: /Order status/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
    await page.getByRole('region', { name: 'Table of runs' }).getByRole('link').first().waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const steps = page.getByRole('listbox', { name: 'Steps' })
    await steps.waitFor()
    const { items } = await read('/runs?status=completed&limit=20')
    await page.goto(
      `${rig().app.url}/console/runs/${items.find(({ stepCount }: { stepCount: number }) => stepCount > 2).id}`,
    )
    await steps.waitFor()
    await steps.focus()
    await page.keyboard.press('Home')
    await waitUntil(() => page.url().includes('step='))
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(await page.evaluate(`document.activeElement?.closest('[role=listbox]') !== null`)).to.equal(true)
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor()
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('open the reference of the API with the same session', async () => {
    const window = await rig().open('/runs')
    await window.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'API' }).click()
    await window.page.waitForURL(/\/docs$/)
    await window.page.evaluate(`location.hash = '#contacts.list'`)
    await window.page.getByText(`signed in as ${rig().demo.email}`).first().waitFor({ state: 'attached' })
    await window.page.context().close()
  })
})
