import { broadcastJob } from '../../src/features/automation/jobs.ts'
import { createBroadcast } from '../../src/features/broadcasts/changes.ts'
import { pauseBroadcast } from '../../src/features/broadcasts/stop-broadcast.ts'
import { sendBroadcast } from '../../src/features/broadcasts/start-broadcast.ts'
import { applyStatuses } from '../../src/features/outbound/statuses/apply-statuses.ts'
import { createTemplate } from '../../src/features/templates/changes.ts'
import { BroadcastRecipient } from '../../src/models/broadcasts.ts'
import { DAY, HOUR, MINUTE } from '../../src/platform/time.ts'
import type { Scope } from '../../src/scope/scope.ts'
import type { Actor } from '../../src/scope/dependencies.ts'
import type { History } from './history.ts'
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
export async function seedCompletedBroadcast(history: History, owner: Actor): Promise<void> {
  const broadcastId = demoId('broadcast', 2)
  await history.act(30 * DAY, owner, async (scope) => {
    for (const template of [SPRING_SALE, PRICE_LIST]) {
      await createTemplate(scope, { ...template, channelId: DEMO.sandboxId, language: 'en', category: 'marketing' })
    }
  })
  await history.act(5 * DAY, owner, async (scope) => {
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
  await history.act(5 * DAY - MINUTE, owner, async (scope) =>
    scope.enqueue(broadcastJob(DEMO.workspaceId, DEMO.sandboxId)),
  )
  await history.act(5 * DAY - HOUR, owner, (scope) => readFirst(scope, broadcastId, 2))
}

/**
 * Plays a broadcast that was paused after its first messages, so that most recipients are pending. One who opted out is
 * skipped.
 */
export async function seedPausedBroadcast(history: History, owner: Actor): Promise<void> {
  const broadcastId = demoId('broadcast', 1)
  await history.act(15 * MINUTE, owner, async (scope) => {
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
  await history.act(14 * MINUTE, owner, async (scope) => {
    await pauseBroadcast(scope, { broadcastId })
    await readFirst(scope, broadcastId, 1)
  })
}

/** Reports that the first recipients of a broadcast read their message. */
async function readFirst(scope: Scope, broadcastId: string, count: number): Promise<void> {
  const recipients = await scope
    .query(BroadcastRecipient)
    .where({ broadcastId, status: 'delivered' })
    .orderBy('contactId')
    .limit(count)
  await applyStatuses(scope, {
    channelId: DEMO.sandboxId,
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
