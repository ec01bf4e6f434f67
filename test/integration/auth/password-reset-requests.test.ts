import { expect } from 'chai'
import { sendPasswordResets } from '../../../src/features/auth/send-password-resets.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('requests of password resets', () => {
  let app: TestApp

  beforeEach(async () => {
    app = await startTestApp({ ROLES: 'http' }, systemClock)
  })

  afterEach(() => app.stop())

  async function requestReset(email: string): Promise<void> {
    const { status } = await app.rest('POST', '/api/auth/forget-password', { body: { email } })
    expect(status).to.equal(200)
  }

  const countRequests = async () => (await app.system.db('password_reset_requests')).length

  it('a password reset is emailed at once although thousands of unknown addresses were requested before it', async () => {
    const { email } = await app.signUp()
    await app.system.db.raw(
      `insert into password_reset_requests (email, due_at)
       select 'nobody-' || n || '@parley.example', now() - interval '1 minute' from generate_series(1, 1999) n`,
    )
    await requestReset(email)
    await sendPasswordResets(app.system)
    expect(await countRequests()).to.equal(0)
  })

  it('a password reset that is requested again and again keeps its place among the others', async () => {
    const { email } = await app.signUp()
    await requestReset(email)
    const readDueAt = async () => (await app.system.db('password_reset_requests').first()).due_at
    const dueAt = await readDueAt()
    await requestReset(email)
    expect(await readDueAt()).to.deep.equal(dueAt)
  })
})
