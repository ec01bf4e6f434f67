import { expect } from 'chai'
import { Gate } from '../../../src/platform/concurrency/gate.ts'
import { waitUntil } from '../../support/wait-until.ts'

function startTasks(gate: Gate, count: number) {
  const started: number[] = []
  const ends: (() => void)[] = []
  for (let index = 0; index < count; index += 1) {
    void gate.run(() => {
      started.push(index)
      return new Promise<void>((resolve) => (ends[index] = resolve))
    })
  }
  return { started, end: (index: number) => ends[index]?.() }
}

describe('Gate', () => {
  it('lets as many tasks in as it is wide, and the next in line when one ends', async () => {
    const { started, end } = startTasks(new Gate({ width: 2, holdMaxMs: 60_000 }), 4)
    await waitUntil(() => started.length === 2)
    end(1)
    await waitUntil(() => started.length === 3)
    expect(started).to.deep.equal([0, 1, 2])
  })

  it('lets the next one in although a task takes longer than it may hold its place', async () => {
    const { started } = startTasks(new Gate({ width: 1, holdMaxMs: 10 }), 3)
    await waitUntil(() => started.length === 3)
    expect(started).to.deep.equal([0, 1, 2])
  })
})
