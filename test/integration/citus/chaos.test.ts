import { expect } from 'chai'
import { listViolations } from '../../../chaos/report.ts'
import { runChaos } from '../../../chaos/run-chaos.ts'
import type { FaultKind } from '../../../chaos/faults/fault.ts'
import { CITUS_URL } from '../../support/postgres.ts'

const SIZE = { conversations: 20, broadcast: 0, kills: 5, faults: 2, seed: 11, workers: 2, workspaces: 2 }
const KINDS: FaultKind[] = ['kill', 'cut', 'node']

describe('chaos test on a distributed database', function () {
  this.timeout(300_000)

  it('every message is processed and answered exactly once through kills, cuts, and nodes that are killed and stopped', async function () {
    if (CITUS_URL === undefined) this.skip()
    const limits = { longestMs: 4000, leaseMs: 30_000, timeoutMs: 120_000 }
    const options = { ...SIZE, ...limits, kinds: KINDS, citusUrl: CITUS_URL }
    const report = await runChaos({ ...options, onProgress: () => undefined })
    expect(listViolations(report)).to.deep.equal([])
    expect(report.faults).to.have.length(SIZE.kills + SIZE.faults)
    expect(report.faults.filter(({ server }) => server !== undefined)).to.have.length.above(1)
    expect(report.provider.accepted).to.be.greaterThan(SIZE.conversations)
  })
})
