import { expect } from 'chai'
import type { FaultKind } from '../../../chaos/faults/fault.ts'
import { listViolations } from '../../../chaos/report.ts'
import { runChaos } from '../../../chaos/run-chaos.ts'
import { MINUTE } from '../../../src/platform/time.ts'

const SIZE = { conversations: 10, broadcast: 200, kills: 4, faults: 2, seed: 7, workers: 2, workspaces: 2 }
const KINDS: FaultKind[] = ['kill', 'cut', 'freeze']

describe('chaos test with broadcasts', function () {
  this.timeout(10 * MINUTE)

  it('no person is sent a broadcast twice and every recipient ends, through kills, cuts and frozen workers', async () => {
    const limits = { longestMs: 3000, leaseMs: 30_000, timeoutMs: 90_000 }
    const report = await runChaos({ ...SIZE, ...limits, kinds: KINDS, onProgress: () => undefined })
    expect(listViolations(report)).to.deep.equal([])
    expect(report.broadcast.recipients).to.equal(SIZE.broadcast)
    expect(report.broadcast.accepted)
      .to.be.greaterThan(SIZE.broadcast * 0.9)
      .and.to.be.at.most(SIZE.broadcast)
    expect(report.broadcast.faultsBeforeEnd).to.be.at.least(3)
  })
})
