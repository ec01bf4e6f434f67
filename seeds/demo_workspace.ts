import type { Knex } from 'knex'
import { seedWorkspace } from '../src/seed/seed-workspace.ts'
import { systemClock } from '../src/platform/time.ts'
import { seedApiKey } from './demo/api-key.ts'
import { seedCompletedBroadcast, seedPausedBroadcast } from './demo/broadcasts.ts'
import { seedContacts } from './demo/contacts.ts'
import { seedConversations } from './demo/conversations.ts'
import { DEMO } from './demo/ids.ts'
import { seedWorkflows } from './demo/workflows.ts'

/** Creates the demo workspace with fixed IDs, unless it exists: seeding again keeps what users did in it. */
export async function seed(knex: Knex): Promise<void> {
  const now = systemClock.now()
  const settings = {
    key: 'demo',
    id: DEMO.workspaceId,
    name: 'Casa Verde',
    timezone: 'America/Sao_Paulo',
    owner: { email: DEMO.email, password: DEMO.password, name: 'Dana Demo' },
    now,
  }
  await seedWorkspace(knex, settings, async (workspace) => {
    await seedApiKey(workspace, now)
    await seedContacts(workspace.tx, now)
    await seedWorkflows(workspace)
    await seedCompletedBroadcast(workspace)
    await seedConversations(workspace)
    await seedPausedBroadcast(workspace)
  })
}
