import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { assertParams } from './audience/assert-params.ts'
import { lockTemplate } from './lock-template.ts'
import { getBroadcast } from './queries.ts'
import { replaceAudience } from './audience/replace-audience.ts'
import type { Broadcast, CreateBroadcast } from './schema.ts'

/**
 * Creates a draft. Nothing is sent.
 * @throws ConflictError `too_many_broadcasts`
 */
export function createBroadcast(
  scope: Scope,
  { id: broadcastId = newId(), ...input }: CreateBroadcast & { id?: string },
): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    await assertRowLimit(tx, 'broadcasts')
    const template = await lockTemplate(tx, input.templateId, input.channelId)
    assertParams(template, input.params, input.audience)
    const now = tx.now()
    await tx.query(BroadcastRow).insert({
      id: broadcastId,
      name: input.name,
      description: input.description ?? null,
      status: 'draft',
      channelId: template.channelId,
      templateId: template.id,
      params: input.params ?? {},
      audience: {},
      frequencyCap: input.frequencyCap ?? null,
      requiresOptIn: input.requiresOptIn ?? false,
      createdBy: tx.actor.type === 'user' ? tx.actor.id : null,
      createdAt: now,
      updatedAt: now,
    })
    if (input.audience) await replaceAudience(tx, broadcastId, input.audience)
    await tx.record({ type: 'broadcast.created', data: { broadcastId } })
    return getBroadcast(tx, { broadcastId })
  })
}
