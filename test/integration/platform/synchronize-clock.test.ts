import { expect } from 'chai'
import { synchronizeClock } from '../../../src/platform/database/synchronize-clock.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { CLOCK_TOLERANCE_MS, HOUR, systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('the clock of a process', () => {
  let app: TestApp
  let correctionMs: number

  before(async () => {
    ;({ correctionMs } = systemClock)
    app = await startTestApp({ ROLES: 'http' })
  })

  after(async () => {
    systemClock.correctionMs = correctionMs
    await app.stop()
  })

  it('is corrected back when that of its machine agrees with the database again', async () => {
    systemClock.correctionMs = HOUR
    const stop = await synchronizeClock(app.system.db, createLogger('silent'))
    stop()
    expect(systemClock.correctionMs).to.be.within(-CLOCK_TOLERANCE_MS, CLOCK_TOLERANCE_MS)
  })
})
