import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONVERSATIONS = 10
const MESSAGES = 6
/** Without a common clock the answers to messages of the process that is ahead come this much later. */
const OFFSET_MS = 60_000

describe('processes whose clocks differ', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let processes: ParleyProcess[]

  before(async () => {
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      steps: [{ id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } }],
    })
    const start = (role: string, offsetMs: number) =>
      startParleyProcess({ DATABASE_URL: app.databaseUrl, ROLES: role, CLOCK_OFFSET_MS: String(offsetMs) })
    processes = await Promise.all([start('http', OFFSET_MS), start('http', -OFFSET_MS), start('worker', 0)])
  })

  after(async () => {
    await Promise.all(processes.map((process) => process.kill()))
    await app.stop()
  })

  async function send(process: ParleyProcess | undefined, phone: string, body: string): Promise<number> {
    const { cookie, tenantId } = workspace
    const response = await fetch(`${process?.url}/api/sandbox/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': newAddress(), cookie, 'x-tenant-id': tenantId },
      body: JSON.stringify({ phone, body }),
    })
    return response.status
  }

  it('answer the messages of a conversation in order and without delay, whichever of them receives them', async () => {
    const bodies = Array.from({ length: MESSAGES }, (_, n) => `m${n}`)
    await Promise.all(
      Array.from({ length: CONVERSATIONS }, async (_, conversation) => {
        for (const [n, body] of bodies.entries()) {
          expect(await send(processes[(n + conversation) % 2], `+49151000000${conversation}0`, body)).to.equal(201)
        }
      }),
    )
    const listAnswers = async () => {
      const { rows } = await app.system.db.raw<{ rows: { bodies: string[] }[] }>(
        `select array_agg(body order by id) as bodies from messages
         where direction = 'outbound' and status = 'delivered' group by conversation_id`,
      )
      return rows.map((row) => row.bodies)
    }
    await waitUntil(async () => (await listAnswers()).flat().length === CONVERSATIONS * MESSAGES, OFFSET_MS / 2)
    expect(await listAnswers()).to.deep.equal(Array(CONVERSATIONS).fill(bodies.map((body) => `Got ${body}`)))
  })
})
