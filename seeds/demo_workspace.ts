import type { Knex } from 'knex'
import { seedBroadcast } from './demo/broadcast.ts'
import { seedConversations } from './demo/conversations.ts'
import { DEMO, seedPeople } from './demo/people.ts'
import { seedWorkflows } from './demo/workflows.ts'

/**
 * One believable workspace under ids that never change. Where it is there already nothing is touched, so seeding twice
 * leaves what somebody has tried out in it.
 */
export async function seed(knex: Knex): Promise<void> {
  await knex.transaction(async (tx) => {
    const there = await tx('workspaces').where('id', DEMO.workspaceId).first('id')
    if (there) return
    const now = new Date()
    await seedPeople(tx, now)
    await seedWorkflows(tx, now)
    await seedConversations(tx, now)
    await seedBroadcast(tx, now)
  })
}
