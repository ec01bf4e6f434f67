import type { Knex } from 'knex'
import { seedCompletedBroadcast, seedPausedBroadcast } from './demo/broadcasts.ts'
import { seedContacts } from './demo/contacts.ts'
import { seedConversations } from './demo/conversations.ts'
import { History } from './demo/history.ts'
import { DEMO } from './demo/ids.ts'
import { seedWorkflows } from './demo/workflows.ts'
import { seedWorkspace } from './demo/workspace.ts'

/**
 * Creates the demo workspace with fixed IDs. Changes nothing if the workspace exists, so that seeding again keeps what
 * users did in it.
 */
export async function seed(knex: Knex): Promise<void> {
  await knex.transaction(async (tx) => {
    const existing = await tx('workspaces').where('id', DEMO.workspaceId).first('id')
    if (existing) return
    const now = new Date()
    const owner = await seedWorkspace(tx, now)
    await seedContacts(tx, now)
    const history = new History(tx, now)
    await seedWorkflows(history, owner)
    await seedCompletedBroadcast(history, owner)
    await seedConversations(history, owner)
    await seedPausedBroadcast(history, owner)
  })
}
