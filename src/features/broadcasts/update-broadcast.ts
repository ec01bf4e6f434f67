import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { ConflictError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope.ts'
import { getBroadcast } from './get-broadcast.ts'
import { lockTemplate } from './lock-template.ts'
import { assertAudience } from './assert-audience.ts'
import type { Broadcast, UpdateBroadcast } from './schema.ts'

const EDITABLE: BroadcastRow['status'][] = ['draft', 'scheduled']

export function updateBroadcast(scope: Scope, input: UpdateBroadcast): Promise<Broadcast> {
  const { id, channelId, templateId, audience, ...columns } = input
  return scope.transaction(async (tx) => {
    const before = await tx.lock(BroadcastRow, id)
    if (!EDITABLE.includes(before.status)) {
      throw new ConflictError(
        'broadcast_not_editable',
        'A broadcast can be changed until it starts. Create another one instead',
      )
    }
    const template = await lockTemplate(tx, templateId ?? before.templateId, channelId)
    if (audience) await assertAudience(tx, audience)
    await tx
      .query(BroadcastRow)
      .findOne('id', id)
      .patch({
        ...definedFields(columns),
        channelId: template.channelId,
        templateId: template.id,
        ...(audience ? { audience } : {}),
        updatedAt: tx.now(),
      })
    await tx.record({ type: 'broadcast.updated', data: { broadcastId: id } })
    return getBroadcast(tx, { id })
  })
}
