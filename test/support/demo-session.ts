import { openDatabase, seedIfEmpty } from '../../src/platform/database/database.ts'
import { DEMO } from '../../seeds/demo/ids.ts'
import { readSessionCookie, type TestApp, type TestSession } from './app.ts'

/** Fills the database of an app with the demo workspace, and signs in as its owner. */
export async function openDemoSession(app: TestApp): Promise<TestSession> {
  const db = openDatabase(app.databaseUrl)
  await seedIfEmpty(db)
  await db.destroy()
  // The demo data is dated by the system clock, so the test clock starts at the same time.
  app.clock.advance(Date.now() - app.clock.now().getTime())
  const { email, password } = DEMO
  const response = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
  const { user, workspaces } = response.body
  return { cookie: readSessionCookie(response), tenantId: workspaces[0].id, userId: user.id, email, password }
}
