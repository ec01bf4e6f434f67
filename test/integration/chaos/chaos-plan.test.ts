import { expect } from 'chai'
import { planFaults } from '../../../chaos/faults/plan.ts'
import { listKinds } from '../../../chaos/parse-options.ts'
import { Random } from '../../../chaos/random.ts'

const KINDS = listKinds(false)
const SIZE = { kills: 20, faults: 70, kinds: KINDS, longestMs: 60_000, leaseMs: 30_000, broadcast: 0 }

describe('planFaults', () => {
  it('planFaults returns the same plan for the same seed, and another one for another seed', () => {
    const plan = (seed: number) => planFaults(new Random(seed), SIZE)
    expect(plan(1)).to.deep.equal(plan(1))
    expect(plan(1)).not.to.deep.equal(plan(2))
  })

  it('planFaults gives every fault a seed of its own', () => {
    const seeds = planFaults(new Random(1), SIZE).map(({ seed }) => seed)
    expect(new Set(seeds)).to.have.length(SIZE.kills + SIZE.faults)
  })

  it('planFaults plans every kind equally often, and spreads the kills evenly', () => {
    const plan = planFaults(new Random(1), SIZE)
    const count = (list: typeof plan, kind: string) => list.filter((fault) => fault.kind === kind).length
    for (const kind of KINDS) expect(count(plan, kind)).to.equal(kind === 'kill' ? 20 : 10, kind)
    expect(count(plan.slice(0, plan.length / 2), 'kill')).to.equal(10)
  })

  it('planFaults plans freezes for less and for more than the leases', () => {
    const durations = planFaults(new Random(1), SIZE).flatMap((fault) =>
      fault.kind === 'freeze' ? fault.durationMs : [],
    )
    expect(Math.min(...durations)).to.be.lessThan(5000)
    expect(Math.max(...durations)).to.be.greaterThan(SIZE.leaseMs)
  })

  it('planFaults plans only the requested kinds, none longer than requested', () => {
    const plan = planFaults(new Random(1), { ...SIZE, kinds: ['lock', 'partition'], longestMs: 3000 })
    expect([...new Set(plan.map(({ kind }) => kind))].sort()).to.deep.equal(['lock', 'partition'])
    for (const fault of plan) expect('durationMs' in fault && fault.durationMs).to.be.at.most(3000)
  })
})
