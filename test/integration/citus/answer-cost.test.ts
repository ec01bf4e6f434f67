import { expect } from 'chai'
import { compareDistributed } from '../../../bench/distributed.ts'
import { median } from '../../../bench/stats.ts'
import { MINUTE } from '../../../src/platform/time.ts'
import { CITUS_URL } from '../../support/postgres.ts'

/** Processor time of an answer on a distributed database, all nodes together, divided by that on one server. */
const RATIO_MAX = 4.5

describe('the processor time of an answer on a distributed database', function () {
  this.timeout(10 * MINUTE)

  it(`is at most ${RATIO_MAX} times that on one server, for messages at once and for each alone`, async function () {
    if (CITUS_URL === undefined) this.skip()
    const { atOnce, alone, lines } = await compareDistributed(CITUS_URL, { workspaces: 4, messages: 100, rounds: 3 })
    expect(median(atOnce), lines.join('\n')).to.be.within(1, RATIO_MAX)
    expect(median(alone), lines.join('\n')).to.be.within(1, RATIO_MAX)
  })
})
