import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadSendableTemplate } from '../templates/sendable-template.ts'
import type { BroadcastEstimate, BroadcastPreview } from './report/schema.ts'
import type { BroadcastRef, PreviewBroadcast } from './schema.ts'
import { parseMessagingLimit, readRemainingLimit } from '../broadcast-recipients/messaging-limit.ts'
import { assertStatus } from './transitions.ts'
import { surveyAudience } from './audience/survey-audience.ts'

/** An estimate ends after this many contacts. */
const SURVEYED_MAX = 20_000

/**
 * Shows the messages that the first contacts of the audience would be sent, and why others would be skipped.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError of templates
 */
export async function previewBroadcast(
  scope: Scope,
  input: PreviewBroadcast,
  signal: AbortSignal | undefined,
): Promise<BroadcastPreview> {
  const { broadcast, template } = await loadUnstarted(scope, input)
  const items: BroadcastPreview['items'] = []
  for await (const decisions of surveyAudience(scope, broadcast, template, signal)) {
    for (const { candidate, params, skipReason, body } of decisions) {
      const { contactId, address, facts } = candidate
      const name = String(facts.contact['name'])
      items.push({ contactId: contactId || null, name, address, skipReason, params, body })
    }
    if (items.length >= input.limit) break
  }
  return { items: items.slice(0, input.limit) }
}

/**
 * Estimates how many contacts would be sent the broadcast, how many would be skipped for which reason, and how long it
 * would take. Ends when `signal` aborts, as the client has left.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError of templates
 */
export async function estimateBroadcast(
  scope: Scope,
  ref: BroadcastRef,
  signal: AbortSignal | undefined,
): Promise<BroadcastEstimate> {
  const { broadcast, template } = await loadUnstarted(scope, ref)
  const channel = await scope.get(ChannelRow, broadcast.channelId)
  const skipped: Record<string, number> = {}
  let [total, sendable] = [0, 0]
  for await (const decisions of surveyAudience(scope, broadcast, template, signal)) {
    for (const { skipReason } of decisions) {
      if (skipReason === null) sendable += 1
      else skipped[skipReason] = (skipped[skipReason] ?? 0) + 1
    }
    total += decisions.length
    if (total >= SURVEYED_MAX) break
  }
  const limit = parseMessagingLimit(channel.messagingLimit)
  return {
    total,
    sendable,
    skipped,
    isComplete: total < SURVEYED_MAX,
    seconds: Math.ceil(sendable / channel.broadcastsPerSecond),
    remainingToday: limit === null ? null : await readRemainingLimit(scope, limit),
  }
}

async function loadUnstarted(scope: Scope, { broadcastId }: BroadcastRef) {
  const broadcast = await scope.get(BroadcastRow, broadcastId)
  assertStatus(broadcast, ['draft', 'scheduled'])
  const { channelId, templateId } = broadcast
  return { broadcast, template: await loadSendableTemplate(scope, channelId, { templateId }) }
}
