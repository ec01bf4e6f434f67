import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { TestWindow } from '../../support/chromium.ts'
import { prepareRig, keepAnswers } from '../../support/console.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('drafts of workflows on the console', function () {
  this.timeout(120_000)
  const rig = prepareRig()

  const findText = (page: Page) => page.getByRole('textbox', { name: 'Definition of the draft as JSON' })
  const findConflict = (page: Page) => page.getByRole('alert').getByText('saved elsewhere')

  async function open(name: string): Promise<TestWindow & { id: string }> {
    const definition = { version: 1, triggers: [{ type: 'api' }], steps: [{ id: 'first', type: 'stop' }] }
    const { body } = await rig().app.rest('POST', '/api/workflows', { session: rig().demo, body: { name, definition } })
    const window = await rig().open(`/workflows/${body.id}`)
    await findText(window.page).waitFor()
    return { ...window, id: body.id }
  }

  /** Saves a changed draft whose answer arrives when the returned function is called, and goes to the list. */
  async function saveAndLeave(page: Page): Promise<() => void> {
    const { arrived, deliver } = await keepAnswers(page, 'workflows.update')
    await findText(page).fill((await findText(page).inputValue()).replace('"first"', '"changed"'))
    await page.getByRole('button', { name: 'Save draft' }).click()
    await arrived
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Workflows' }).click()
    await page.getByRole('heading', { name: 'Workflows', level: 1 }).waitFor()
    return deliver
  }

  it('that are saved after the page was left have no conflict when it is opened again', async () => {
    const window = await open('Saved and left')
    const { page } = window
    const deliver = await saveAndLeave(page)
    deliver()
    await page.getByRole('status').getByText('Draft saved').waitFor()
    await page.getByRole('link', { name: 'Saved and left' }).click()
    await page.getByRole('list', { name: 'State of the draft' }).getByText('Draft saved').waitFor()
    expect(await findText(page).inputValue()).to.include('"changed"')
    expect(await findConflict(page).count()).to.equal(0)
    expect(window.complaints).to.deep.equal([])
    await page.context().close()
  })

  it('that are being saved while the page is opened again are saved without a conflict', async () => {
    const window = await open('Left and returned')
    const { page } = window
    const deliver = await saveAndLeave(page)
    await page.getByRole('link', { name: 'Left and returned' }).click()
    await page.getByRole('button', { name: 'Saving' }).waitFor()
    deliver()
    await page.getByRole('list', { name: 'State of the draft' }).getByText('Draft saved').waitFor()
    expect(await findText(page).inputValue()).to.include('"changed"')
    expect(await findConflict(page).count()).to.equal(0)
    await page.context().close()
  })

  it('that are saved elsewhere have a conflict with a text that is not saved, and take the place of one that is', async () => {
    const { page, id } = await open('Two authors')
    const change = async (stepId: string) => {
      const { body } = await rig().app.rest('GET', `/api/workflows/${id}`, { session: rig().demo })
      const definition = { ...body.definition, steps: [{ id: stepId, type: 'stop' }] }
      const { status } = await rig().app.rest('PATCH', `/api/workflows/${id}`, {
        session: rig().demo,
        body: { definition, draftRevision: body.draftRevision },
      })
      expect(status).to.equal(200)
    }
    await page.getByText('Live', { exact: true }).waitFor()
    await change('theirs')
    await waitUntil(async () => (await findText(page).inputValue()).includes('"theirs"'))
    await findText(page).fill((await findText(page).inputValue()).replace('"theirs"', '"mine"'))
    await change('theirs_again')
    await findConflict(page).waitFor()
    await page.getByRole('button', { name: 'Keep my text' }).click()
    await page.getByRole('button', { name: 'Save draft' }).click()
    await page.getByRole('list', { name: 'State of the draft' }).getByText('Draft saved').waitFor()
    const { body } = await rig().app.rest('GET', `/api/workflows/${id}`, { session: rig().demo })
    expect(body.definition.steps[0].id).to.equal('mine')
    await page.context().close()
  })

  it('that are no JSON say so, and are no longer checked', async () => {
    const { page } = await open('No JSON')
    await page.getByText('No problems').waitFor()
    await findText(page).fill('{')
    await page.getByText('Not JSON', { exact: true }).waitFor()
    expect(
      await page.getByRole('region', { name: 'Graph', exact: true }).getByRole('button', { name: /first/ }).count(),
    ).to.equal(1)
    await page.context().close()
  })
})
