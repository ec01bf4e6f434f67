import { expect } from 'chai'
import { buildWorkspace } from '../factories.ts'
import type { WorkspaceClient } from '../support/workspace-client.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { listTableRows, readDocument, sectionOf } from '../support/documents.ts'

const page = readDocument('docs/recipes.md')

describe('docs/recipes.md', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  for (const heading of new Set(page.blocks.map((block) => block.heading))) {
    it(`shows the conversation of "${heading}" as a simulation has it, from a definition without errors`, async () => {
      const [definition, simulation] = page.blocks
        .filter((block) => block.heading === heading)
        .map(({ text }) => JSON.parse(text) as Record<string, unknown>)
      const { errors } = await workspace.call('POST', '/api/workflows/validate', { definition })
      expect(errors).to.deep.equal([])
      const { id } = await workspace.call('POST', '/api/workflows', { name: heading, definition })
      const simulated = await workspace.call('POST', `/api/workflows/${id}/simulate`, simulation)
      const transcript = simulated.transcript as { from: string; body: string }[]
      const shown = listTableRows(sectionOf(page, heading))
      expect(transcript.map(({ from, body }) => [from, body])).to.deep.equal(shown)
    })
  }
})
