import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { NO_COUNTS } from './broadcast-query.ts'
import { getBroadcast } from './get-broadcast.ts'
import { lockTemplate } from './lock-template.ts'
import { assertAudience } from './assert-audience.ts'
import type { Broadcast, CreateBroadcast } from './schema.ts'

/** A draft: nobody is sent anything. */
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
    return getBroadcast(tx, { id: broadcastId })
  })
}
