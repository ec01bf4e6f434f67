import { expect } from 'chai'
import { listOperations, type Operation } from '../../src/http/rest.ts'
import { MINUTE } from '../../src/platform/time.ts'
import { appRouter } from '../../src/router.ts'
import { buildWorkspace } from '../factories.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import type { Dimension } from '../support/cost-dimensions.ts'
import { findCostViolation } from '../support/find-cost-violation.ts'
import { generateDimensions } from '../support/generate-dimensions.ts'
import { HAND_MADE } from '../support/hand-made-dimensions.ts'
import { createResources, INPUTS } from '../support/procedure-inputs.ts'

/** COST_REPORT=1 prints every measurement. */
const report =
  process.env['COST_REPORT'] === '1' ? (line: string) => process.stdout.write(`      ${line}\n`) : undefined

describe('the processor time of an input', function () {
  // Some measure a dozen inputs with thousands of parts, each of them several times on a busy machine.
  this.timeout(6 * MINUTE)
  let app: TestApp
  let buildShared: () => Promise<Built>

  before(async () => {
    app = await startTestApp()
    const shared = await build()
    buildShared = () => Promise.resolve(shared)
  })

  after(() => app.stop())

  for (const operation of listOperations(appRouter)) {
    const { procedure, procedurePath, method } = operation
    if (procedure._def.type === 'subscription') continue
    // Their inputs are rejected or only read.
    const isShared = method === 'GET' || method === 'DELETE'
    it(`of ${procedurePath} grows in proportion to its size`, () =>
      assertProportional(async () => toDimensions(operation, await (isShared ? buildShared() : build())), {
        isPatch: method === 'PATCH',
      }))
  }

  for (const { name, build: buildDimensions } of HAND_MADE) {
    it(`of a ${name} grows in proportion to its size`, () =>
      assertProportional(async () => (await buildDimensions(await buildWorkspace(app))).map(afterWork)))
  }

  /** Measures a call without the work that follows the one before it. */
  function afterWork(dimension: Dimension): Dimension {
    return {
      ...dimension,
      prepare: async (size) => {
        await app.work()
        return dimension.prepare(size)
      },
    }
  }

  type Built = Awaited<ReturnType<typeof build>>

  async function build() {
    const workspace = await buildWorkspace(app)
    return { workspace, ids: await createResources(workspace) }
  }

  function toDimensions(operation: Operation, { workspace, ids }: Built): Dimension[] {
    return generateDimensions(app, workspace, operation, INPUTS[operation.procedurePath]?.(ids) ?? {})
  }
})

/** Measures each dimension. After a patch that has stored a large input, new resources are built, which are small again. */
async function assertProportional(build: () => Promise<Dimension[]>, { isPatch = false } = {}): Promise<void> {
  const violations: string[] = []
  let dimensions = await build()
  for (const index of dimensions.keys()) {
    const dimension = dimensions[index]
    if (!dimension) throw new Error('the dimensions of new resources differ')
    const { violation, isStored } = await findCostViolation(dimension, report)
    if (violation) violations.push(violation)
    if (isPatch && isStored) dimensions = await build()
  }
  expect(violations.join('\n')).to.equal('')
}
