import { expect } from 'chai'
import { violationsOf } from '../../chaos/report.ts'
import { runStorm } from '../../chaos/run-chaos.ts'

const SIZE = { conversations: 50, kills: 11, seed: 20260301, workers: 2, workspaces: 3 }

describe('a storm of killed workers, HTTP processes and databases', function () {
  this.timeout(300_000)

  it('leaves every message read once, every answer given once, and nothing undone', async () => {
    const report = await runStorm({ ...SIZE, patienceMs: 60_000, progress: () => undefined })
    expect(violationsOf(report)).to.deep.equal([])
    expect(report.struck).to.have.length(SIZE.kills)
    expect(report.struck.map(({ victim }) => victim)).to.include.members(['worker', 'http', 'database'])
    expect(report.accepted).to.be.greaterThan(SIZE.conversations)
    expect(report.repeats).to.be.greaterThan(0)
  })
})
