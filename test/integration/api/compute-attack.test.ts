import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { Customer } from '../../support/customer.ts'
import { ECHO, schemaDefinition } from '../../support/expensive-definitions.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ATTACKERS = 16

describe('sixteen workspaces whose definitions use up the compute threads', function () {
  // The sign-ups of 27 workspaces take processor time that others may use.
  this.timeout(3 * MINUTE)

  let app: TestApp
  let server: ScriptedServer
  let customer: Customer
  let others: WorkspaceClient[]
  let isOver = false
  let computed = 0

  const buildWorkspaces = async (count: number) => {
    const workspaces: WorkspaceClient[] = []
    while (workspaces.length < count) workspaces.push(await buildWorkspace(app))
    return workspaces
  }
  const validate = (workspace: WorkspaceClient, definition: unknown, address = newAddress()) =>
    workspace.request('POST', '/api/workflows/validate', { definition }, { 'x-forwarded-for': address })

  /** Keeps two requests in flight. */
  async function attack(workspace: WorkspaceClient): Promise<void> {
    const address = newAddress()
    const repeat = async () => {
      while (!isOver) {
        // The connection is reset when the application stops.
        const response = await validate(workspace, schemaDefinition(), address).catch(() => undefined)
        if (response?.status === 422) computed += 1
        else isOver ||= response === undefined
      }
    }
    await Promise.all([repeat(), repeat()])
  }

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
    server.replyWith(json({ price: 1 }))
    customer = await Customer.create(
      app,
      [{ id: 'use', type: 'tool', tool: 'shop.quote', input: { article: 'a' } }],
      (one) =>
        one.call('POST', '/tools', {
          name: 'shop.quote',
          title: 'Quote',
          description: 'Quotes a price.',
          inputSchema: { type: 'object', required: ['article'] },
          outputSchema: { type: 'object', required: ['price'] },
          effect: 'read',
          config: { method: 'POST', url: `${server.url}/quotes` },
        }),
    )
    others = await buildWorkspaces(10)
    for (const attacker of await buildWorkspaces(ATTACKERS)) void attack(attacker)
    await waitUntil(() => computed > 0)
  })

  after(async () => {
    isOver = true
    await server.stop()
    await app.stop()
  })

  it('do not delay POST /api/workflows/validate of a new workspace by more than a few of their requests', async () => {
    for (const workspace of others.slice(0, 4)) {
      const before = computed
      const { status, body } = await validate(workspace, ECHO)
      expect([status, body.valid]).to.deep.equal([200, true])
      expect(computed - before).to.be.lessThan(ATTACKERS / 4)
    }
  })

  it('do not delay the tool of a live run', async () => {
    await customer.send()
    await app.work()
    const { status, steps } = await customer.run()
    expect([status, steps[0].output, steps[0].error]).to.deep.equal(['completed', { price: 1 }, null])
  })

  it('have 32 places together if they come from one network, and 32 each otherwise', async () => {
    const refused = { same: 0, different: 0 }
    const sendMany = (kind: keyof typeof refused, workspaces: WorkspaceClient[], toAddress: () => string) => {
      for (const workspace of workspaces)
        for (let index = 0; index < 20; index += 1)
          validate(workspace, schemaDefinition(), toAddress()).then(
            ({ status }) => (refused[kind] += status === 503 ? 1 : 0),
            () => undefined,
          )
    }
    sendMany('different', others.slice(4, 7), newAddress)
    const address = newAddress()
    sendMany('same', others.slice(7), () => address)
    await waitUntil(() => refused.same >= 20)
    expect(refused.different).to.equal(0)
  })
})
