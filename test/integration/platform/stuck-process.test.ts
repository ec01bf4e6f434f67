import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { Checkout } from '../../support/checkout.ts'
import { waitUntil } from '../../support/wait-until.ts'

const CLAIMS = 'src/platform/jobs/wakeup-claims.ts'
const TENANT = '00000000-0000-7000-8000-000000000001'
const POLL = 'const POLL_MS = 2 * SECOND'

describe('a process that takes no jobs although the database answers', function () {
  this.timeout(240_000)
  let app: TestApp
  let checkout: Checkout

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
    checkout = new Checkout()
    // Thirty polls, after which the process ends, then take seconds instead of a minute.
    const path = join(checkout.path, CLAIMS)
    const source = readFileSync(path, 'utf8')
    expect(source).to.include(POLL)
    writeFileSync(path, source.replace(POLL, 'const POLL_MS = SECOND / 5'))
  })

  after(async () => {
    await checkout.remove()
    await app.stop()
  })

  it('ends with exit code 1 and says why', async () => {
    const url = new URL(app.databaseUrl)
    url.searchParams.set('application_name', 'faulty')
    const environment = { DATABASE_URL: url.href, ROLES: 'worker', SECRET_KEY: 'ab'.repeat(32) }
    const { child, ended } = checkout.start('node', ['--import', 'tsx', 'src/main.ts'], environment)
    try {
      const { db } = app.system
      await db('wakeups').insert({ task: 'advance', tenant_id: TENANT, key: TENANT })
      await waitUntil(async () => (await db('wakeups')).length === 0)
      // A trigger per statement fires although no job waits.
      await db.raw(`create function refuse() returns trigger language plpgsql as $$
        begin
          if current_setting('application_name') = 'faulty' then raise 'away'; end if;
          return null;
        end $$;
        create trigger refuse before delete on wakeups execute function refuse()`)
      const { code, stdout } = await ended
      expect(stdout).to.include('background work is stuck although the database answers')
      expect(code).to.equal(1)
    } finally {
      child.kill('SIGKILL')
    }
  })
})
