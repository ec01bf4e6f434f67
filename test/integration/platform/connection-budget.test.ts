import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listTableRows, readDocument, sectionOf } from '../../support/documents.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** The rows of the table in docs/operations.md, with the names that their connections have in `pg_stat_activity`. */
const ROWS: Record<string, string[]> = {
  'API requests, sign-in, subscriptions': ['parley requests'],
  Webhooks: ['parley webhooks'],
  'Jobs: workflow runs, sending': ['parley engine'],
  'Periodic tasks, reading the clock': ['parley background'],
  'Job queue': ['parley jobs'],
  'Rate limits': ['parley limits'],
  Notifications: ['parley notifications'],
}
const SUM = '**A process with both roles**'
const CHECKS = 'Checks of the servers'

describe('the connections of a process', function () {
  this.timeout(60_000)
  const documented = new Map(
    listTableRows(sectionOf(readDocument('docs/operations.md'), 'Connections'))
      .filter(([, , , setting]) => setting !== undefined)
      .map(([label = '', count = '']) => [label, Number(count.replaceAll('*', ''))]),
  )
  let app: TestApp
  let workspaces: WorkspaceClient[]

  before(async () => {
    app = await startTestApp({}, systemClock)
    workspaces = [await buildWorkspace(app), await buildWorkspace(app)]
    for (const workspace of workspaces) await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
  })

  after(() => app.stop())

  /** Uses every kind of connection as much as a process can. */
  async function load(): Promise<void> {
    const requests = workspaces.flatMap((workspace) =>
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? sendAsCustomer(workspace).catch(() => undefined)
          : buildContact(workspace).catch(() => undefined),
      ),
    )
    await Promise.all(requests)
  }

  async function countConnections(): Promise<Map<string, number>> {
    return withClient(app.databaseUrl, async (client) => {
      const { rows } = await client.query<{ name: string; count: number }>(
        `select application_name as name, count(*)::int as count from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() group by 1`,
      )
      return new Map(rows.map(({ name, count }) => [name, count]))
    })
  }

  it('are listed in docs/operations.md, and add up there', () => {
    const counted = [...documented].filter(([label]) => label !== SUM && label !== CHECKS)
    expect(counted.map(([label]) => label)).to.have.members(Object.keys(ROWS))
    expect(counted.reduce((sum, [, count]) => sum + count, 0)).to.equal(documented.get(SUM))
  })

  it('are at most as many as docs/operations.md states while the process is under load', async () => {
    const most = new Map<string, number>()
    let isLoaded = true
    const loaded = load().finally(() => (isLoaded = false))
    while (isLoaded) {
      for (const [name, count] of await countConnections()) most.set(name, Math.max(count, most.get(name) ?? 0))
      await delay(20)
    }
    await loaded
    const names = Object.values(ROWS).flat()
    const others = [...most.keys()].filter((name) => name.startsWith('parley') && !names.includes(name))
    expect(others).to.deep.equal([])
    for (const [label, applications] of Object.entries(ROWS)) {
      const count = applications.reduce((sum, name) => sum + (most.get(name) ?? 0), 0)
      expect(count, label).to.be.at.most(documented.get(label) ?? 0)
    }
    for (const name of ['parley engine', 'parley requests']) expect(most.get(name), name).to.be.greaterThan(1)
  })
})
