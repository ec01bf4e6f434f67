import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { readNodes } from '../../support/citus.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ANSWER = {
  triggers: [{ type: 'message_received' }],
  steps: [
    { id: 'tag', type: 'add_tag', tags: ['greeted'] },
    { id: 'answer', type: 'send_message', message: { body: 'Hello' } },
  ],
}

/** Connections that store messages and answer them. */
const OF_ANSWERS = ['parley engine', 'parley webhooks']

describe('answers on a distributed database', () => {
  let app: TestApp
  let cloud: FakeCloudApi

  before(async function () {
    if (CITUS_URL === undefined) return this.skip()
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const workspace = await buildWorkspace(app)
    await buildCloudApiChannel(workspace, cloud)
    await buildWorkflow(workspace, ANSWER)
    // The first statements of a workspace go to the coordinator, until the process knows its node.
    await answer('first')
    await answer('second')
  })

  after(async () => {
    if (CITUS_URL === undefined) return
    await cloud.stop()
    await app.stop()
  })

  async function answer(body: string): Promise<void> {
    const accepted = cloud.accepted.length
    expect((await cloud.webhooks.sendText({ from: newPhone(), body })).status).to.equal(200)
    await waitUntil(() => cloud.accepted.length > accepted)
    await app.work()
  }

  it('are stored without a transaction in two phases on any node', async () => {
    const listTransactions = () => readNodes(app.databaseUrl, 'select gid as value from pg_dist_transaction')
    const before = new Set(await listTransactions())
    for (const body of ['third', 'fourth', 'fifth']) await answer(body)
    expect((await listTransactions()).filter((transaction) => !before.has(transaction))).to.deep.equal([])
  })

  it('are stored over connections to the node of the workspace', async () => {
    const connections = await readNodes(
      app.databaseUrl,
      `select distinct application_name as value from pg_stat_activity
      where datname = current_database() and application_name in ('${OF_ANSWERS.join(`', '`)}') order by value`,
    )
    const coordinator = new URL(app.databaseUrl).host
    const direct = connections.filter((connection) => !connection.startsWith(`${coordinator} `))
    expect(direct.map((connection) => connection.replace(/^\S+ /, ''))).to.deep.equal(OF_ANSWERS)
  })
})
