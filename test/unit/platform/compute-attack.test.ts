import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { bundleWorker } from '../../../src/platform/compute/bundle-worker.ts'
import { type Charged, ComputePool } from '../../../src/platform/compute/compute-pool.ts'
import { UnavailableError } from '../../../src/platform/errors.ts'
import { createLogger } from '../../../src/platform/log.ts'
import type { Actor } from '../../../src/scope/dependencies.ts'
import { tasks } from '../../support/compute-worker.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ATTACKERS = 16
const LIVE: Actor = { type: 'run', id: 'run', name: null }

describe('ComputePool under attack', () => {
  let pool: ComputePool
  let worker: URL
  const folder = createTempDir()
  const createPool = (module: URL) => new ComputePool({ worker: module, threads: 2, log: createLogger('silent') })

  before(async () => {
    worker = await bundleWorker(new URL('../../support/compute-worker.ts', import.meta.url), folder.path)
  })

  beforeEach(() => {
    pool = createPool(worker)
  })

  afterEach(() => pool.close())

  after(() => folder.remove())

  /** A request of a user at an address of their own, in a workspace of their own. */
  const requestOf = (name: string): Charged => ({
    tenantId: name,
    actor: { type: 'user', id: name, network: name },
  })

  /** Queues two tasks without an end for each of sixteen accounts; returns how many have started so far. */
  async function attack(): Promise<() => number> {
    const starts = new SharedArrayBuffer(4)
    const counter = new Int32Array(starts)
    for (let index = 0; index < 2 * ATTACKERS; index += 1)
      pool.run(tasks.spin, starts, requestOf(`attacker ${index % ATTACKERS}`)).catch(() => undefined)
    await waitUntil(() => counter[0] === 2)
    return () => Atomics.load(counter, 0)
  }

  /** Starts a task that uses so much thread time; `progress` has the number of its starts, and the time used so far. */
  function burn(ms: number, charged: Charged) {
    const shared = new SharedArrayBuffer(8)
    return { progress: new Int32Array(shared), result: pool.run(tasks.burn, { shared, ms }, charged) }
  }

  it('answers each new tenant before it starts the tasks that sixteen others have queued', async () => {
    const countStarts = await attack()
    for (let index = 0; index < 10; index += 1) {
      const before = countStarts()
      expect(await pool.run(tasks.echo, index, requestOf(`new ${index}`))).to.equal(index)
      // One may have been handed over before, and one be started with the answer.
      expect(countStarts() - before).to.be.most(2)
    }
    expect(countStarts()).to.be.most(14)
  })

  it('answers a tenant again and again whose tasks are short', async () => {
    const countStarts = await attack()
    for (let index = 0; index < 200; index += 1) await pool.run(tasks.echo, index, requestOf('busy'))
    expect(countStarts()).to.be.lessThan(2 * ATTACKERS)
  })

  it('answers live runs', async () => {
    const countStarts = await attack()
    const before = countStarts()
    expect(await pool.run(tasks.echo, 'run', { tenantId: 'new', actor: LIVE })).to.equal('run')
    expect(countStarts() - before).to.be.most(2)
  })

  it('completes a task that takes longer than most, with and without an attack', async () => {
    expect(await burn(400, requestOf('calm')).result).to.equal('done')
    await attack()
    expect(await burn(400, requestOf('patient')).result).to.equal('done')
  })

  it('repeats a task that was ended so that a short one could start', async () => {
    const long = ['a', 'b'].map((name) => burn(1500, requestOf(name)))
    await waitUntil(() => long.every(({ progress }) => Atomics.load(progress, 1) > 200))
    const order: string[] = []
    const finishing = long.map(({ result }) => result.then(() => order.push('long')))
    await pool.run(tasks.echo, 1, requestOf('short')).then(() => order.push('short'))
    await Promise.all(finishing)
    expect(order).to.deep.equal(['short', 'long', 'long'])
    expect(long.reduce((sum, { progress }) => sum + Atomics.load(progress, 0), 0)).to.equal(3)
  })

  it('counts the time of its thread towards a deadline, and not that of others', async function () {
    if (process.platform !== 'linux') this.skip()
    const shared = new SharedArrayBuffer(4)
    const bits = new Int32Array(shared)
    const waiting = pool.run(tasks.wait, shared, requestOf('waiting'))
    // It takes longer than the deadline of the task that waits.
    await burn(2 * tasks.wait.deadlineMs, requestOf('other')).result
    Atomics.store(bits, 0, 1)
    Atomics.notify(bits, 0)
    expect(await waiting).to.be.oneOf(['ok', 'not-equal'])
  })

  it('fails with 503 what waits for a thread that cannot start', async () => {
    const module = join(folder.path, 'broken.mjs')
    await writeFile(module, "throw new Error('broken')")
    const broken = createPool(pathToFileURL(module))
    const error: unknown = await broken.run(tasks.echo, 1, requestOf('a')).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(UnavailableError)
    await broken.close()
  })
})
