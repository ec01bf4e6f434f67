import { findUnknownParams } from '../../channels/templates/fill-template.ts'
import { listVariables, readTemplate } from '../../channels/templates/variables.ts'
import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { Channel, Template } from '../../models/messaging.ts'
import { definedFields, listChanged } from '../../platform/fields.ts'
import { ConflictError, UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { toCreatorColumns } from '../api-keys/creators.ts'
import { assertKeyHas, assertMaySendOn } from '../consent/send-permission.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { paramsError, PROBLEMS_MAX } from '../templates/sendable-template.ts'
import { replaceAudience } from './audience/replace-audience.ts'
import type { AudienceInput } from './audience/schema.ts'
import { getBroadcast, toAudience } from './queries.ts'
import type { Broadcast, BroadcastRef, CreateBroadcast, UpdateBroadcast } from './schema.ts'

const EDITABLE: BroadcastRow['status'][] = ['draft', 'scheduled']

type Params = Record<string, string>

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
      ...toCreatorColumns(tx),
      createdAt: now,
      updatedAt: now,
    })
    if (input.audience) await replaceAudience(tx, broadcastId, input.audience)
    await tx.record({ type: 'broadcast.created', data: { broadcastId } })
    return getBroadcast(tx, { broadcastId })
  })
}

/** @throws ConflictError `broadcast_not_editable` when the broadcast has started; UnprocessableError `template_params_invalid` */
export function updateBroadcast(scope: Scope, input: UpdateBroadcast): Promise<Broadcast> {
  const { broadcastId, channelId, templateId, audience, ...columns } = input
  return scope.transaction(async (tx) => {
    const existing = await tx.lock(BroadcastRow, broadcastId)
    const { recipientCount, ...lists } = existing.audience
    tx.audit?.compareWith({ ...existing, audience: { ...lists, recipients: recipientCount || null } })
    if (!EDITABLE.includes(existing.status)) {
      throw new ConflictError(
        'broadcast_not_editable',
        'A broadcast can be updated only until it starts. Create another one instead',
      )
    }
    assertMaySendOn(tx, existing.channelId)
    // It starts by itself with what it is then.
    if (existing.status !== 'draft') assertKeyHas(tx, 'broadcasts:send')
    const template = await lockTemplate(tx, templateId ?? existing.templateId, channelId)
    assertParams(template, columns.params ?? (templateId ? existing.params : undefined), audience)
    const replaced = audience && (await replaceAudience(tx, broadcastId, audience))
    await tx
      .query(BroadcastRow)
      .findOne('id', broadcastId)
      .patch({
        ...definedFields(columns),
        channelId: template.channelId,
        templateId: template.id,
        updatedAt: tx.now(),
      })
    const former = { ...existing, audience: toAudience(existing.audience) }
    const changed = new Set(
      listChanged(former, {
        ...columns,
        channelId: template.channelId,
        templateId: template.id,
        audience: replaced && toAudience(replaced.audience),
      }),
    )
    if (replaced?.hasOtherPhones) changed.add('audience')
    if (changed.size > 0) await tx.record({ type: 'broadcast.updated', data: { broadcastId, changed: [...changed] } })
    return getBroadcast(tx, { broadcastId })
  })
}

/**
 * Deletes a draft. Any other broadcast is a record of what was sent or scheduled.
 * @throws ConflictError `broadcast_not_editable`
 */
export function deleteBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const { status, channelId } = await tx.lock(BroadcastRow, broadcastId)
    assertMaySendOn(tx, channelId)
    if (status !== 'draft') {
      throw new ConflictError('broadcast_not_editable', 'Only a draft can be deleted. Cancel this broadcast instead')
    }
    await tx.query(BroadcastRow).delete().where('id', broadcastId)
    await tx.record({ type: 'broadcast.deleted', data: { broadcastId } })
    return {}
  })
}

/**
 * Locks the template of a broadcast, so that it is not deleted until the transaction ends. The template decides the
 * channel: `channelId`, if set, must be the same.
 * @throws NotFoundError, UnprocessableError `template_of_other_channel`
 */
async function lockTemplate(tx: Scope, templateId: string, channelId: string | undefined): Promise<Template> {
  const template = await tx.lock(Template, templateId)
  assertMaySendOn(tx, template.channelId)
  if (channelId === undefined) return template
  const channel = await tx.get(Channel, channelId)
  if (channel.id === template.channelId) return template
  throw new UnprocessableError(
    'template_of_other_channel',
    'The template belongs to another channel. Choose a template of this channel, or leave out channelId',
  )
}

/**
 * Asserts that the parameters of a broadcast and of its recipients are variables of the template. Whether none is
 * missing is checked when the broadcast starts.
 * @throws UnprocessableError `template_params_invalid`
 */
function assertParams(
  { components }: Template,
  params: Params | undefined,
  { recipients = [] }: AudienceInput = {},
): void {
  const template = readTemplate(components)
  if (!template) return
  const variables = listVariables(template)
  const problems: Parameters<typeof paramsError>[0] = []
  const check = (checked: Params = {}, path: string) => {
    for (const problem of findUnknownParams(variables, Object.keys(checked)))
      problems.push({ ...problem, path: `${path}.${problem.name}` })
  }
  check(params, 'params')
  for (const [index, recipient] of recipients.entries()) {
    if (problems.length >= PROBLEMS_MAX) break
    check(recipient.params, `audience.recipients.${index}.params`)
  }
  if (problems.length > 0) throw paramsError(problems)
}
