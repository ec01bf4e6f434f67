import { expect } from 'chai'
import { readdirSync } from 'node:fs'
import { bundleWorker } from '../../../src/platform/compute/bundle-worker.ts'
import { ComputePool } from '../../../src/platform/compute/compute-pool.ts'
import type { ComputeTask } from '../../../src/platform/compute/compute-task.ts'
import { AppError, UnavailableError } from '../../../src/platform/errors.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { tasks } from '../../support/compute-worker.ts'
import { errorMessage } from '../../support/error-message.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ACTOR = { type: 'system', id: null, name: null } as const
const source = new URL('../../support/compute-worker.ts', import.meta.url)

describe('ComputePool', () => {
  let pool: ComputePool
  let worker: URL
  const folder = createTempDir()

  before(async () => {
    worker = await bundleWorker(source, folder.path)
    pool = new ComputePool({ worker, threads: 2, log: createLogger('silent') })
  })

  after(async () => {
    await pool.close()
    await folder.remove()
  })

  const run = <Input, Output>(task: ComputeTask<Input, Output>, input: Input, key = 'tenant') =>
    pool.run(task, input, { tenantId: key, actor: ACTOR })
  const codeOfError = async (attempt: Promise<unknown>) => {
    const error: unknown = await attempt.catch((thrown: unknown) => thrown)
    return error instanceof AppError ? error.code : error
  }

  it('returns the output of a task', async () => {
    expect(await run(tasks.echo, { list: [1, null, 'text'] })).to.deep.equal({ list: [1, null, 'text'] })
  })

  it('fails a task with the error that it throws', async () => {
    expect(await errorMessage(run(tasks.fail, 'no such thing'))).to.equal('no such thing')
  })

  it('names the task that no worker thread knows', async () => {
    expect(await errorMessage(run(tasks.unregistered, undefined))).to.include('no task "unregistered"')
  })

  it('ends a task that exceeds its deadline, and runs the next one', async () => {
    expect(await codeOfError(run(tasks.loop, undefined))).to.equal('budget_exceeded')
    expect(await run(tasks.echo, 1)).to.equal(1)
  })

  it('leaves no descriptor open for a thread that ended', async function () {
    if (process.platform !== 'linux') this.skip()
    const countDescriptors = () => readdirSync('/proc/self/fd').length
    await codeOfError(run(tasks.loop, undefined))
    await run(tasks.echo, 1)
    const before = countDescriptors()
    for (let thread = 0; thread < 5; thread += 1)
      expect(await codeOfError(run(tasks.loop, undefined))).to.equal('budget_exceeded')
    await run(tasks.echo, 1)
    await waitUntil(async () => countDescriptors() <= before)
  })

  it('ends a task that exceeds its memory, and runs the next one', async () => {
    expect(await codeOfError(run(tasks.allocate, undefined))).to.equal('budget_exceeded')
    expect(await run(tasks.echo, 1)).to.equal(1)
  })

  it('ends a task that exceeds its stack, and runs the next one', async () => {
    expect(await codeOfError(run(tasks.recurse, 0))).to.equal('budget_exceeded')
    expect(await run(tasks.echo, 1)).to.equal(1)
  })

  it('refuses a result that is too large to hand over', async () => {
    expect(await codeOfError(run(tasks.largeResult, 17_000_000))).to.equal('budget_exceeded')
    expect(await run(tasks.largeResult, 3)).to.equal('xxx')
  })

  it('gives its threads no environment', async () => {
    expect(await run(tasks.environment, undefined)).to.deep.equal([])
  })

  it('runs tasks of different tenants at the same time', async () => {
    const shared = new SharedArrayBuffer(4)
    const meet = (bit: number) => run(tasks.meet, { shared, bit, all: 3 }, `tenant ${bit}`)
    expect(await Promise.all([meet(1), meet(2)])).to.deep.equal([1, 2])
  })

  it('runs one task of a tenant at a time, so that others find a free thread', async () => {
    const finished: string[] = []
    const note = (name: string) => () => void finished.push(name)
    const loops = Array.from({ length: 3 }, (_, index) =>
      run(tasks.loop, undefined, 'attacker').catch(note(`loop ${index}`)),
    )
    const echoes = Array.from({ length: 3 }, (_, index) => run(tasks.echo, 1, 'victim').then(note(`echo ${index}`)))
    await Promise.all([...loops, ...echoes])
    expect(finished.filter((name) => name.startsWith('loop'))).to.deep.equal(['loop 0', 'loop 1', 'loop 2'])
    expect(finished.indexOf('echo 2')).to.be.lessThan(finished.indexOf('loop 2'))
  })

  it('refuses a task when too many of its tenant are queued', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => run(tasks.echo, 1)))
    const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(errors.length).to.be.within(1, 8)
    for (const error of errors) expect(error).to.be.instanceOf(UnavailableError)
    expect(await run(tasks.echo, 1, 'victim')).to.equal(1)
  })

  it('accepts a task of a tenant with none although other tenants have filled the queue, at the cost of the largest', async () => {
    const attackers = Array.from({ length: 9 * 32 }, (_, index) => run(tasks.echo, 1, `attacker ${index % 9}`))
    const settled = Promise.allSettled(attackers)
    expect(await run(tasks.echo, 'answer', 'victim')).to.equal('answer')
    const rejected = (await settled).flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(rejected.length).to.be.within(1, 33)
    for (const error of rejected) expect(error).to.be.instanceOf(UnavailableError)
  })

  it('fails what runs and what is queued with 503 when it is closed', async () => {
    const closing = new ComputePool({ worker, threads: 1, log: createLogger('silent') })
    await closing.run(tasks.echo, 1, { tenantId: 'a', actor: ACTOR })
    const attempts = ['a', 'a', 'b'].map((key) =>
      codeOfError(closing.run(tasks.spin, undefined, { tenantId: key, actor: ACTOR })),
    )
    await closing.close()
    expect(await Promise.all(attempts)).to.deep.equal(['unavailable', 'unavailable', 'unavailable'])
    expect(await codeOfError(closing.run(tasks.echo, 1, { tenantId: 'a', actor: ACTOR }))).to.equal('unavailable')
  })
})
