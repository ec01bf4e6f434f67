import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { ConflictError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertParams } from './audience/assert-params.ts'
import { lockTemplate } from './lock-template.ts'
import { getBroadcast } from './queries.ts'
import { replaceAudience } from './audience/replace-audience.ts'
import type { Broadcast, UpdateBroadcast } from './schema.ts'

const EDITABLE: BroadcastRow['status'][] = ['draft', 'scheduled']

/** @throws ConflictError `broadcast_not_editable` when the broadcast has started; UnprocessableError `template_params_invalid` */
export function updateBroadcast(scope: Scope, input: UpdateBroadcast): Promise<Broadcast> {
  const { broadcastId, channelId, templateId, audience, ...columns } = input
  return scope.transaction(async (tx) => {
    const existing = await tx.lock(BroadcastRow, broadcastId)
    if (!EDITABLE.includes(existing.status)) {
      throw new ConflictError(
        'broadcast_not_editable',
        'A broadcast can be updated only until it starts. Create another one instead',
      )
    }
    const template = await lockTemplate(tx, templateId ?? existing.templateId, channelId)
    assertParams(template, columns.params ?? (templateId ? existing.params : undefined), audience)
    if (audience) await replaceAudience(tx, broadcastId, audience)
    await tx
      .query(BroadcastRow)
      .findOne('id', broadcastId)
      .patch({
        ...definedFields(columns),
        channelId: template.channelId,
        templateId: template.id,
        updatedAt: tx.now(),
      })
    await tx.record({ type: 'broadcast.updated', data: { broadcastId } })
    return getBroadcast(tx, { broadcastId })
  })
}
