import { expect } from 'chai'
import { addMs, HOUR, MINUTE, SECOND, systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { startParleyProcess } from '../../support/parley-process.ts'
import { SmtpServer } from '../../support/smtp-server.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('emails of password resets', function () {
  this.timeout(90_000)
  let app: TestApp
  let mail: SmtpServer

  beforeEach(async () => {
    mail = await SmtpServer.start()
    app = await startTestApp({ ROLES: 'http' }, systemClock)
  })

  afterEach(async () => {
    await app.stop()
    mail.stop()
  })

  async function requestReset(email: string): Promise<void> {
    const { status } = await app.rest('POST', '/api/auth/forget-password', { body: { email } })
    expect(status).to.equal(200)
  }

  const startWorker = (clock: TestClock) =>
    startTestApp({ DATABASE_URL: app.databaseUrl, ROLES: 'worker', SMTP_URL: mail.url }, clock)
  const countRequests = async () => (await app.system.db('password_reset_requests')).length

  it('a password reset is emailed once, with a valid token, when the mail server works again, also after its worker was killed', async () => {
    const { email } = await app.signUp()
    mail.mode = 'silent'
    await requestReset(email)
    const killed = await startParleyProcess({
      DATABASE_URL: app.databaseUrl,
      DATA_DIR: app.dataDir,
      ROLES: 'worker',
      SMTP_URL: mail.url,
    })
    await waitUntil(() => mail.connections === 1)
    await killed.kill()
    mail.mode = 'refusing'
    const clock = new TestClock(new Date())
    const worker = await startWorker(clock)
    try {
      // Within the hour in which five tokens that were emailed would prevent a sixth.
      for (let connections = 2; connections <= 5; connections += 1) {
        clock.advance(MINUTE * 2 ** (connections - 2) + SECOND)
        await waitUntil(() => mail.connections === connections)
      }
      mail.mode = 'accepting'
      clock.advance(MINUTE * 2 ** 4 + SECOND)
      await waitUntil(async () => (await countRequests()) === 0)
    } finally {
      await worker.stop()
    }
    expect(mail.emails).to.have.length(1)
    const token = /[A-Za-z0-9_-]{43}/.exec(mail.emails[0]?.text ?? '')?.[0]
    const { status } = await app.rest('POST', '/api/auth/reset-password', {
      body: { token, newPassword: 'a better password' },
    })
    expect(status).to.equal(200)
  })

  it('a password reset that is requested again during its email is emailed again', async () => {
    const { email } = await app.signUp()
    mail.mode = 'silent'
    await requestReset(email)
    const clock = new TestClock(addMs(new Date(), SECOND))
    const worker = await startWorker(clock)
    try {
      await waitUntil(() => mail.connections === 1)
      clock.advance(SECOND)
      await requestReset(email)
      mail.greet()
      await waitUntil(() => mail.emails.length === 1)
      clock.advance(HOUR)
      await waitUntil(() => mail.emails.length === 2)
      await waitUntil(async () => (await countRequests()) === 0)
    } finally {
      await worker.stop()
    }
  })

  it('a password reset is given up after the 25th attempt to email it', async () => {
    const { email } = await app.signUp()
    mail.mode = 'refusing'
    await requestReset(email)
    await app.system.db('password_reset_requests').update({ attempts: 24 })
    const worker = await startWorker(new TestClock(addMs(new Date(), SECOND)))
    try {
      await waitUntil(async () => (await countRequests()) === 0)
      expect(mail.connections).to.equal(1)
    } finally {
      await worker.stop()
    }
  })
})
