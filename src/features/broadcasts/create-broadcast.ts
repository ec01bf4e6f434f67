import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { assertAudience } from './assert-audience.ts'
import { lockTemplate } from './lock-template.ts'
import { getBroadcast, NO_COUNTS } from './queries.ts'
import type { Broadcast, CreateBroadcast } from './schema.ts'

/** Creates a draft. Nothing is sent. */
export function createBroadcast(scope: Scope, input: CreateBroadcast): Promise<Broadcast> {
  const broadcastId = newId()
  return scope.transaction(async (tx) => {
    const template = await lockTemplate(tx, input.templateId, input.channelId)
    const { audience = {} } = input
    await assertAudience(tx, audience)
    const now = tx.now()
    await tx.query(BroadcastRow).insert({
      id: broadcastId,
      name: input.name,
      description: input.description ?? null,
      status: 'draft',
      channelId: template.channelId,
      templateId: template.id,
      params: input.params ?? {},
      audience,
      counts: NO_COUNTS,
      createdBy: tx.actor.type === 'user' ? tx.actor.id : null,
      createdAt: now,
      updatedAt: now,
    })
    await tx.record({ type: 'broadcast.created', data: { broadcastId } })
    return getBroadcast(tx, { broadcastId })
  })
}
