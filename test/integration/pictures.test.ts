import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { drawWorkflow, type Bubble } from '../../scripts/draw-workflow.ts'
import { WORKFLOWS } from '../../seeds/demo/workflows.ts'
import type { WorkflowDefinition } from '../../src/workflow-definition.ts'
import { buildWorkspace } from '../factories.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { ROOT } from '../support/documents.ts'
import type { WorkspaceClient } from '../support/workspace-client.ts'

type Picture = { workflow: { name: string; definition: WorkflowDefinition }; customer: string; messages: string[] }

type Run = { steps: { stepId: string }[] }

const PICTURES: Record<string, Picture> = {
  'order-status.svg': {
    workflow: WORKFLOWS.orderStatus,
    customer: 'Ana',
    messages: ['Where is my order?', 'the blue one', '4711'],
  },
  'book-a-visit.svg': {
    workflow: JSON.parse(readFileSync(join(ROOT, 'docs/examples/visits.json'), 'utf8')),
    customer: 'Carla',
    messages: ['Can I visit you?', '2027-03-05', 'a few', '4'],
  },
}

describe('docs/images', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  for (const [name, { workflow, customer, messages }] of Object.entries(PICTURES)) {
    it(`${name} shows the conversation and the steps of a simulation; WRITE_DOCS draws it again`, async () => {
      const { definition } = workflow
      const { id } = await workspace.call('POST', '/api/workflows', { name: workflow.name, definition })
      const dialogue = messages.map((body) => ({ type: 'message', body }))
      const { transcript, runs } = await workspace.call('POST', `/api/workflows/${id}/simulate`, { dialogue })
      const bubbles = transcript as Bubble[]
      const used = (runs as Run[]).flatMap(({ steps }) => steps.map(({ stepId }) => stepId))
      const svg = drawWorkflow(workflow, { customer, bubbles, used })
      const path = join(ROOT, 'docs/images', name)
      if (process.env['WRITE_DOCS']) writeFileSync(path, svg)
      expect(readFileSync(path, 'utf8')).to.equal(svg)
    })
  }
})
