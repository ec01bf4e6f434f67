import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { closeDatabase, openDatabase } from '../../../src/platform/database/database.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { Owner } from '../../support/deployment.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { ReplicatedPair } from '../../support/replicated-pair.ts'
import { Traffic } from '../../support/traffic.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Without the time until the standby is promoted, which the operator's tools decide. */
const INTERRUPTION_MAX_MS = 20 * SECOND

describe('two servers in DATABASE_URL', function () {
  this.timeout(240_000)
  let pair: ReplicatedPair
  let processes: ParleyProcess[]
  let traffic: Traffic

  beforeEach(async () => {
    if (process.platform !== 'linux') return
    pair = await ReplicatedPair.start((url) => migrate(url, createLogger('silent')))
    const env = { DATABASE_URL: pair.url, TRUSTED_PROXIES: '127.0.0.1/32' }
    processes = await Promise.all([startParleyProcess(env), startParleyProcess(env)])
    const urls = processes.map(({ url = '' }) => url)
    const owner = await Owner.signUp(urls[0] ?? '', 'ada@parley.example')
    await owner.publishAnswer(urls[0] ?? '', 'Hi')
    traffic = new Traffic(urls, owner)
  })

  afterEach(async () => {
    await traffic?.stop()
    for (const parley of processes ?? []) await parley.kill()
    await pair?.stop()
  })

  for (const [fault, inject] of [
    ['is killed', () => pair.killPrimary()],
    ['is frozen', () => pair.freezePrimary()],
  ] as const) {
    it(`lose nothing when the primary ${fault} and the standby is promoted, and answers resume within seconds`, async function () {
      if (process.platform !== 'linux') this.skip()
      traffic.start()
      await waitUntil(() => traffic.acknowledged.length >= 20)
      inject()
      await delay(SECOND)
      await pair.promoteStandby()
      const promotedAt = performance.now()
      await waitUntil(() => traffic.lastSuccessAt > promotedAt + 5 * SECOND)
      await traffic.stop()
      const interruptionMs = traffic.longestGapMs()
      process.stderr.write(
        `    ${Math.round(interruptionMs / 100) / 10} s without answers when the primary ${fault}; /readyz: ${traffic.readiness.join(', ')}\n`,
      )
      expect(interruptionMs).to.be.below(INTERRUPTION_MAX_MS)
      expect(await traffic.findProblems(pair.standbyUrl)).to.deep.equal({ lost: [], notAnsweredOnce: [] })
      expect(traffic.readiness.at(-1)).to.equal(200)
      if (fault !== 'is frozen') return
      // It still accepts changes, but would never acknowledge them.
      pair.thawPrimary()
      const db = openDatabase(pair.url)
      const { rows } = await db.raw<{ rows: object[] }>('select inet_server_port() as port')
      await closeDatabase(db)
      expect(rows).to.deep.equal([{ port: Number(new URL(pair.standbyUrl).port) }])
    })
  }
})
