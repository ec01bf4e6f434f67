import { expect } from 'chai'
import type { TestWindow } from '../../support/chromium.ts'
import { prepareRig, keepAnswers } from '../../support/console.ts'

type Written = { id: string; conversationId: string; contactId: string }

describe('texts on the console that get no answer', function () {
  this.timeout(120_000)
  const rig = prepareRig()

  async function sendAsCustomer(phone: string): Promise<Written> {
    const { status, body } = await rig().app.rest('POST', '/api/sandbox/messages', {
      session: rig().demo,
      body: { phone, name: 'Yara', body: 'Good morning' },
    })
    expect(status).to.equal(201)
    return body
  }

  async function countTexts(conversationId: string, text: string): Promise<number> {
    const { body } = await rig().app.rest('GET', `/api/conversations/${conversationId}/messages`, {
      session: rig().demo,
    })
    return body.messages.filter((message: { body: string | null }) => message.body === text).length
  }

  async function reply({ page }: TestWindow, text: string): Promise<void> {
    await page.getByRole('textbox', { name: 'Reply' }).fill(text)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
  }

  it('are shown when the page is opened again, and are sent once if they are sent again', async () => {
    const { contactId, conversationId } = await sendAsCustomer('+12025550170')
    const window = await rig().open(`/contacts/${contactId}`)
    const { page } = window
    const { arrived } = await keepAnswers(page, 'conversations.send')
    await reply(window, 'On its way')
    await arrived
    await page.reload()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    const unsent = page.getByRole('article', { name: 'Perhaps sent' })
    await unsent.getByText('On its way').waitFor()
    await unsent.getByRole('button', { name: 'Send again' }).click()
    await unsent.waitFor({ state: 'hidden' })
    await page.getByRole('article', { name: 'Being sent' }).waitFor({ state: 'hidden' })
    expect(await countTexts(conversationId, 'On its way')).to.equal(1)
    await page.reload()
    await page.getByRole('log', { name: 'Messages' }).getByText('On its way').waitFor()
    expect(await page.getByRole('article', { name: 'Perhaps sent' }).count()).to.equal(0)
    await page.context().close()
  })

  it('are still being sent when another page was shown meanwhile', async () => {
    const { contactId, conversationId } = await sendAsCustomer('+12025550171')
    const window = await rig().open(`/contacts/${contactId}`)
    const { page } = window
    const { arrived, deliver } = await keepAnswers(page, 'conversations.send')
    await reply(window, 'Back in a moment')
    await arrived
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor()
    await page.goBack()
    await page.getByRole('article', { name: 'Being sent' }).getByText('Back in a moment').waitFor()
    deliver()
    await page.getByRole('article', { name: 'Being sent' }).waitFor({ state: 'hidden' })
    expect(await page.getByRole('log', { name: 'Messages' }).getByText('Back in a moment').count()).to.equal(1)
    expect(await countTexts(conversationId, 'Back in a moment')).to.equal(1)
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('return to the field of the phone, and arrive once if they are sent again', async () => {
    const { contactId, conversationId } = await sendAsCustomer('+12025550172')
    const window = await rig().open(`/playground?contact=${contactId}`)
    const { page } = window
    const field = page.getByLabel('Message of the customer')
    await page.route('**/trpc/sandbox.sendAsCustomer*', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await field.fill('Can you hear me?')
    await field.press('Enter')
    await page.getByRole('alert').getByText('The server does not answer').waitFor()
    expect(await field.inputValue()).to.equal('Can you hear me?')
    await page.unrouteAll()
    await field.press('Enter')
    await page.getByRole('alert').waitFor({ state: 'hidden' })
    expect(await field.inputValue()).to.equal('')
    expect(await countTexts(conversationId, 'Can you hear me?')).to.equal(1)
    await page.context().close()
  })
})
