import { expect } from 'chai'
import { type Computation, ComputeQueue } from '../../../src/platform/compute/compute-queue.ts'
import { RecentUsage } from '../../../src/platform/compute/recent-usage.ts'

type Named = Computation & { name: string }

const STANDBY = { hasStandby: true }
const NO_STANDBY = { hasStandby: false }

describe('ComputeQueue', () => {
  let queue: ComputeQueue<Named>
  let canceled: string[]

  beforeEach(() => {
    queue = new ComputeQueue(2)
    canceled = []
  })

  function build(name: string, fields: Partial<Computation> = {}): Named {
    const cancel = () => {
      queue.remove(computation)
      canceled.push(name)
    }
    const keys = [`tenant ${name}`] as const
    const computation: Named = { name, keys, isLive: false, isLong: false, isRepeated: false, cancel, ...fields }
    return computation
  }

  /** Queues computations of new keys, or of those that are named. */
  const add = (...computations: (Named | string)[]) =>
    computations.map((one) => queue.add(typeof one === 'string' ? build(one) : one))

  function run(name: string, fields: Partial<Computation> = {}): Named {
    const computation = build(name, fields)
    queue.start(computation)
    return computation
  }

  /** Starts and ends what is queued, one after the other. */
  function listOrder(): string[] {
    const names: string[] = []
    for (let next = queue.findNext(STANDBY); next; next = queue.findNext(STANDBY)) {
      queue.start(next)
      queue.end(next)
      names.push(next.name)
    }
    return names
  }

  const use = (name: string, ms: number, fields: Partial<Computation> = {}) => queue.charge(build(name, fields), ms)
  const useLong = (name: string, ms: number) => use(name, ms, { isLong: true })

  describe('order', () => {
    it('starts with the tenant that has used the least thread time', () => {
      for (const [name, ms] of Object.entries({ a: 900, b: 300, c: 600 })) useLong(name, ms)
      add('a', 'b', 'c')
      expect(listOrder()).to.deep.equal(['b', 'c', 'a'])
    })

    it('ranks by the key that has used most: sixteen accounts of one network count as one', () => {
      const network = 'network 10.0.0.1'
      const account = (index: number) => build(`a${index}`, { keys: [`tenant a${index}`, `user a${index}`, network] })
      for (let index = 0; index < 16; index += 1) queue.charge({ ...account(index), isLong: true }, 100)
      useLong('other', 1000)
      add(account(0), account(1), 'other')
      expect(listOrder()[0]).to.equal('other')
    })

    it('counts what a user has used in other workspaces', () => {
      use('old', 900, { keys: ['tenant old', 'user u'], isLong: true })
      useLong('other', 500)
      add(build('new', { keys: ['tenant new', 'user u'] }), 'other')
      expect(listOrder()).to.deep.equal(['other', 'new'])
    })

    it('starts with tenants of short tasks that have used less than a second, then with new ones, the newest first', () => {
      for (const name of ['short 1', 'short 2']) use(name, 900)
      use('busy', 1500)
      useLong('long', 200)
      add('busy', 'long', 'new 1', 'short 1', 'new 2', 'short 2')
      expect(listOrder()).to.deep.equal(['short 1', 'short 2', 'new 2', 'new 1', 'long', 'busy'])
    })

    it('starts a live run before requests of the same rank', () => {
      add(build('run', { isLive: true }), 'request')
      expect(listOrder()).to.deep.equal(['run', 'request'])
    })

    it('keeps the order of a tenant', () => {
      add(...[1, 2, 3].map((index) => build(`task ${index}`, { keys: ['tenant a'] })))
      expect(listOrder()).to.deep.equal(['task 1', 'task 2', 'task 3'])
    })

    it('runs one task of a tenant at a time', () => {
      run('running', { keys: ['tenant a'] })
      add(build('waiting', { keys: ['tenant a'] }))
      expect(queue.findNext(STANDBY)).to.equal(undefined)
    })
  })

  describe('the last thread, while the other one runs a long task', () => {
    beforeEach(() => {
      queue.charge(run('long', { isLong: true }), 500)
    })

    it('is for tenants whose tasks have been short, however many', () => {
      use('short', 9000)
      add('short')
      expect(queue.findNext(NO_STANDBY)?.name).to.equal('short')
    })

    it('is for what a new tenant has queued since the last start', () => {
      add('new')
      expect(queue.findNext(NO_STANDBY)?.name).to.equal('new')
    })

    it('is for what a new tenant queued earlier only if another thread stands by', () => {
      add('new')
      queue.end(run('other'))
      expect(queue.findNext(NO_STANDBY)).to.equal(undefined)
      expect(queue.findNext(STANDBY)?.name).to.equal('new')
    })

    it('is for a tenant that has had a long task only if another thread stands by', () => {
      useLong('light', 900)
      add('light')
      expect(queue.findNext(NO_STANDBY)).to.equal(undefined)
      expect(queue.findNext(STANDBY)?.name).to.equal('light')
    })

    it('is for live runs that have used less than a second, also after a long task', () => {
      useLong('run', 900)
      add(build('run', { isLive: true }))
      expect(queue.findNext(NO_STANDBY)?.name).to.equal('run')
    })

    it('is not for live runs that have used a second, nor for a long task of one', () => {
      useLong('heavy', 1100)
      useLong('put back', 200)
      add(build('heavy', { isLive: true }), build('put back', { isLive: true, isLong: true, isRepeated: true }))
      expect(queue.findNext(STANDBY)).to.equal(undefined)
    })

    it('is not for tenants that have used a second for long tasks and others', () => {
      useLong('heavy', 150)
      use('heavy', 900)
      add('heavy')
      expect(queue.findNext(STANDBY)).to.equal(undefined)
    })

    it('is not for tasks that were ended once', () => {
      add(build('repeated', { isLong: true, isRepeated: true }))
      useLong('repeated', 150)
      expect(queue.findNext(STANDBY)).to.equal(undefined)
    })
  })

  describe('giving way, while both threads run long tasks', () => {
    const runLong = (name: string, fields: Partial<Computation> = {}) => {
      const computation = run(name, { isLong: true, ...fields })
      queue.charge(computation, 500)
      return computation
    }

    it('is up to the task that has started last, for a tenant whose tasks have been short', () => {
      runLong('a')
      const b = runLong('b')
      use('short', 900)
      add('short')
      expect(queue.findYielding()).to.equal(b)
    })

    it('is for a new tenant that comes later, and not for one that was there before', () => {
      add('before')
      runLong('a')
      const b = runLong('b')
      expect(queue.findYielding()).to.equal(undefined)
      add('later')
      expect(queue.findYielding()).to.equal(b)
    })

    it('is not for a tenant that has had a long task', () => {
      runLong('a')
      runLong('b')
      useLong('waiting', 150)
      add('waiting')
      expect(queue.findYielding()).to.equal(undefined)
    })

    it('happens to a task once', () => {
      const a = runLong('a')
      const b = runLong('b')
      add('new')
      queue.putBack(b)
      queue.start(b)
      add('later')
      expect(queue.findYielding()).to.equal(a)
      queue.putBack(a)
      queue.start(a)
      add('last')
      expect(queue.findYielding()).to.equal(undefined)
    })

    it('does not happen while a task may be short', () => {
      runLong('a')
      run('b')
      add('waiting')
      expect(queue.findYielding()).to.equal(undefined)
    })
  })

  describe('room', () => {
    const fill = (tenants: number, each: number, toName = (index: number) => `a${index}`) => {
      for (let tenant = 0; tenant < tenants; tenant += 1)
        for (let index = 0; index < each; index += 1) add(build(toName(tenant), { keys: [`tenant ${toName(tenant)}`] }))
    }

    it('is for 32 tasks of a key, tenants of one network together', () => {
      const account = (index: number) => build(`a${index}`, { keys: [`tenant ${index % 4}`, 'network n'] })
      const added = Array.from({ length: 40 }, (_, index) => queue.add(account(index)))
      expect(added.filter(Boolean)).to.have.length(32)
      expect(add('other')).to.deep.equal([true])
    })

    it('is made for a tenant with fewer tasks at the cost of the newest of the tenant with the most', () => {
      fill(8, 32)
      use('other', 9000)
      expect(add('other')).to.deep.equal([true])
      expect(canceled).to.have.length(1)
      expect(queue.queued).to.have.length(256)
    })

    it('is made among tenants with equally many at the cost of the one that has used most', () => {
      fill(256, 1)
      use('a7', 500)
      expect(add('other')).to.deep.equal([true])
      expect(canceled).to.deep.equal(['a7'])
      use('heavy', 500)
      expect(add('heavy')).to.deep.equal([false])
    })
  })

  describe('RecentUsage', () => {
    it('remembers 10,000 keys, those that were charged last', () => {
      const usage = new RecentUsage()
      for (let index = 0; index < 30_000; index += 1) usage.add([`tenant ${index}`, 'network n'], 1, false)
      expect(usage.size).to.equal(10_000)
      expect(usage.maxMs(['tenant 29999'])).to.be.closeTo(1, 0.1)
      expect(usage.maxMs(['tenant 0'])).to.equal(0)
      expect(usage.maxMs(['tenant 0', 'network n'])).to.be.greaterThan(20_000)
    })
  })
})
