import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { listKinds } from '../../../chaos/parse-options.ts'
import { listViolations } from '../../../chaos/report.ts'
import { runChaos } from '../../../chaos/run-chaos.ts'

const SIZE = { conversations: 50, broadcast: 0, kills: 5, faults: 7, seed: 62, workers: 2, workspaces: 3 }
const KINDS = listKinds(false)

describe('chaos test', function () {
  this.timeout(10 * MINUTE)

  it('Parley answers every message exactly once and sends every event to its webhooks through kills, cuts, silent networks, frozen processes, locks, an emptied queue, skewed clocks, a full disk and a receiver of webhooks that fails', async () => {
    const limits = { longestMs: 4000, leaseMs: 30_000, timeoutMs: 90_000 }
    const report = await runChaos({ ...SIZE, ...limits, kinds: KINDS, onProgress: () => undefined })
    expect(listViolations(report)).to.deep.equal([])
    expect(report.faults).to.have.length(SIZE.kills + SIZE.faults)
    expect(report.faults.map(({ fault }) => fault.kind)).to.include.members(KINDS)
    expect(report.faults.some(({ isFailpointReached }) => isFailpointReached)).to.equal(true)
    expect(report.provider.accepted).to.be.greaterThan(SIZE.conversations)
    expect(report.webhooks.duplicates).to.be.greaterThan(0)
    expect(report.events.received).to.be.greaterThan(report.provider.accepted)
    expect(report.events.calls).to.be.greaterThan(report.events.received)
  })
})
