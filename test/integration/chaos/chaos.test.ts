import { expect } from 'chai'
import { listViolations } from '../../../chaos/report.ts'
import { runChaos } from '../../../chaos/run-chaos.ts'

const SIZE = { conversations: 50, kills: 11, seed: 20260301, workers: 2, workspaces: 3 }

describe('chaos test', function () {
  this.timeout(300_000)

  it('Parley processes and answers every message exactly once while workers, HTTP processes and databases are killed', async () => {
    const report = await runChaos({ ...SIZE, timeoutMs: 60_000, onProgress: () => undefined })
    expect(listViolations(report)).to.deep.equal([])
    expect(report.faults).to.have.length(SIZE.kills)
    expect(report.faults.map(({ target }) => target)).to.include.members(['worker', 'http', 'database'])
    expect(report.faults.some(({ failpoint }) => failpoint !== undefined)).to.equal(true)
    expect(report.provider.accepted).to.be.greaterThan(SIZE.conversations)
    expect(report.webhooks.duplicates).to.be.greaterThan(0)
  })
})
