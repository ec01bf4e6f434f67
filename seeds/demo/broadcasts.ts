import { broadcastJob } from '../../src/features/automation/jobs.ts'
import { createBroadcast } from '../../src/features/broadcasts/changes.ts'
import { pauseBroadcast } from '../../src/features/broadcasts/stop-broadcast.ts'
import { sendBroadcast } from '../../src/features/broadcasts/start-broadcast.ts'
import { applyStatuses } from '../../src/features/outbound/statuses/apply-statuses.ts'
import { createTemplate } from '../../src/features/templates/changes.ts'
import { BroadcastRecipient } from '../../src/models/broadcasts.ts'
import type { Scope } from '../../src/scope/scope.ts'
import type { SeededWorkspace } from '../../src/seed/seeded-workspace.ts'
import { DEMO, demoId } from './ids.ts'

const SPRING_SALE = {
  id: DEMO.templateId,
  name: 'spring_sale',
  body: 'Hi {{name}}, our spring sale starts today. Everything green is 20 % off.',
}
const PRICE_LIST = {
  id: demoId('template', 2),
  name: 'price_list',
  body: 'Hi {{name}}, the new price list for customer {{number}} is here. Write to us to order.',
}

/** Plays a broadcast that was sent to everybody. Two of its recipients read it. */
export async function seedCompletedBroadcast(workspace: SeededWorkspace): Promise<void> {
  const broadcastId = demoId('broadcast', 2)
  await workspace.act('30d', async (scope) => {
    for (const template of [SPRING_SALE, PRICE_LIST]) {
      await createTemplate(scope, {
        ...template,
        channelId: workspace.sandboxId,
        language: 'en',
        category: 'marketing',
      })
    }
  })
  await workspace.act('5d', async (scope) => {
    await createBroadcast(scope, {
      id: broadcastId,
      name: 'Wholesale price list',
      description: 'For wholesale customers',
      templateId: PRICE_LIST.id,
      params: { name: '{{contact.name}}', number: '{{contact.fields.customerNumber}}' },
      audience: { tagIds: [demoId('tag', 3)] },
    })
    await sendBroadcast(scope, { broadcastId })
  })
  await workspace.act('7199m', async (scope) => scope.enqueue(broadcastJob(workspace.id, workspace.sandboxId)))
  await workspace.act('119h', (scope) => readFirst(scope, workspace.sandboxId, { broadcastId, count: 2 }))
}

/**
 * Plays a broadcast that was paused after its first messages, so that most recipients are pending. One who opted out is
 * skipped.
 */
export async function seedPausedBroadcast(workspace: SeededWorkspace): Promise<void> {
  const broadcastId = demoId('broadcast', 1)
  await workspace.act('15m', async (scope) => {
    await createBroadcast(scope, {
      id: broadcastId,
      name: 'Spring sale',
      description: 'For customers who asked for news of the spring sale',
      templateId: SPRING_SALE.id,
      params: { name: '{{contact.name}}' },
      audience: { groupIds: [demoId('group', 3)], contactIds: [demoId('contact', 16)] },
    })
    await sendBroadcast(scope, { broadcastId })
  })
  await workspace.act('14m', async (scope) => {
    await pauseBroadcast(scope, { broadcastId })
    await readFirst(scope, workspace.sandboxId, { broadcastId, count: 1 })
  })
}

/** Reports that the first recipients of a broadcast read their message. */
async function readFirst(
  scope: Scope,
  channelId: string,
  { broadcastId, count }: { broadcastId: string; count: number },
): Promise<void> {
  const recipients = await scope
    .query(BroadcastRecipient)
    .where({ broadcastId, status: 'delivered' })
    .orderBy('contactId')
    .limit(count)
  await applyStatuses(scope, {
    channelId,
    statuses: recipients.map(({ messageId, providerMessageId, address }) => ({
      providerMessageId: providerMessageId ?? '',
      status: 'read',
      at: scope.now(),
      error: null,
      messageId,
      recipient: address,
      pricing: null,
    })),
  })
}
