import { expect } from 'chai'
import { sqlState } from '../../../src/platform/database/database.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { readNodes } from '../../support/citus.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import {
  createMember,
  type Member,
  readNames,
  readPort,
  readTransactionId,
  rename,
} from '../../support/transaction-members.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ROUNDS = 5

/** Workspaces of each node: two transactions are open at a time, and two parts wait to share the next one. */
const NEIGHBOURS = 4

describe('work of many workspaces at once on a distributed database', () => {
  let app: TestApp
  const members: Member[] = []

  before(async function () {
    if (CITUS_URL === undefined) return this.skip()
    app = await startTestApp({ ROLES: 'http' })
    const counts = new Map<string, number>()
    while (counts.size < 2 || [...counts.values()].some((count) => count < NEIGHBOURS)) {
      const member = await createMember(app)
      const port = await readPort(member.scope)
      counts.set(port, (counts.get(port) ?? 0) + 1)
      members.push(member)
    }
  })

  after(() => (CITUS_URL === undefined ? undefined : app.stop()))

  const readPorts = () => Promise.all(members.map(({ scope }) => readPort(scope)))

  /** Renames all contacts at once, and returns the server and transaction of each. */
  function renameAll(name: string): Promise<string[]> {
    return Promise.all(
      members.map((member) =>
        member.scope.transaction(
          async (tx) => {
            await rename(name)(tx, member)
            return `${await readPort(tx)} ${await readTransactionId(tx)}`
          },
          { size: 1 },
        ),
      ),
    )
  }

  it('shares transactions without one in two phases on any node', async () => {
    const listTransactions = () => readNodes(app.databaseUrl, 'select gid as value from pg_dist_transaction')
    const before = new Set(await listTransactions())
    const counts: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) counts.push(new Set(await renameAll(`Round ${round}`)).size)
    expect((await listTransactions()).filter((transaction) => !before.has(transaction))).to.deep.equal([])
    expect(await readNames(members)).to.deep.equal(members.map(() => `Round ${ROUNDS - 1}`))
    expect(Math.min(...counts)).to.be.below(members.length)
  })

  it('is committed as a whole while a process still looks for a workspace on the node that it has left', async () => {
    const [first] = members as [Member]
    const home = await readPort(first.scope)
    const ports = await readPorts()
    const moved = members[ports.findIndex((port) => port !== home)] ?? first
    const away = await readPort(moved.scope)
    await move(moved, away, home)
    await waitUntil(async () => (await readPort(moved.scope)) === home)
    await move(moved, home, away)
    for (let round = 0; round < ROUNDS; round += 1) {
      await renameAll(`Moved ${round}`)
      expect(await readNames(members)).to.deep.equal(members.map(() => `Moved ${round}`))
    }
    await waitUntil(async () => (await readPort(moved.scope)) === away)
  })

  it('fails alone if it needs another node than that of the others, which cannot be reached', async () => {
    const ports = await readPorts()
    const [home = '', away = ''] = new Set(ports)
    const neighbours = members.filter((_, index) => ports[index] === home)
    await reroute(home, { from: away, to: '1' })
    const outcomes = await Promise.allSettled(
      neighbours.map(({ scope }, index) =>
        scope.transaction(
          (tx) =>
            index === neighbours.length - 1
              ? tx.sql('readSize')`select citus_total_relation_size(${'contacts'}::regclass) as size`
              : tx.sql('countContacts')`select count(*) as count from contacts where tenant_id = ${tx.tenantId}`,
          { size: 1 },
        ),
      ),
    ).finally(() => reroute(home, { from: '1', to: away }))
    const failures = outcomes.map((outcome) => (outcome.status === 'rejected' ? sqlState(outcome.reason) : undefined))
    expect(failures).to.deep.equal([...neighbours.slice(1).map(() => undefined), '08006'])
  })

  /** Changes the port at which one node looks for another. */
  async function reroute(node: string, { from, to }: { from: string; to: string }): Promise<void> {
    const url = new URL(app.databaseUrl)
    url.port = node
    await withClient(url.href, (client) =>
      client.query('update pg_dist_node set nodeport = $1 where nodeport = $2', [Number(to), Number(from)]),
    )
  }

  /** Moves all rows with the same shard as a workspace from one node to another. */
  async function move({ scope }: Member, from: string, to: string): Promise<void> {
    await withClient(app.databaseUrl, async (client) => {
      await client.query('set statement_timeout = 0')
      await client.query(
        `select citus_move_shard_placement(get_shard_id_for_distribution_column('contacts', $1::uuid),
           $4, $2::int, $4, $3::int, 'block_writes')`,
        [scope.tenantId, from, to, new URL(app.databaseUrl).hostname],
      )
    })
  }
})
