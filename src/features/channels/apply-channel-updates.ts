import type { ChannelUpdate } from '../../channels/channel.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { recordChannelAlert } from '../broadcast-recipients/channel-alerts.ts'
import { degradeChannel, forgetChannel, reconnectChannel } from './load-channel.ts'

/**
 * Applies what the provider reports about a channel: quality, limits, alerts, and whether it accepts messages. Reports
 * about another number of the same account are skipped.
 */
export async function applyChannelUpdates(tx: Scope, channelId: string, updates: ChannelUpdate[]): Promise<void> {
  if (updates.length === 0) return
  let channel = await tx.lock(ChannelRow, channelId)
  forgetChannel(tx, channelId)
  for (const update of updates) {
    const { phone, sending, alert } = update
    if (phone !== null && channel.phoneNumber !== null && phone !== channel.phoneNumber) continue
    const rating = pickReported(update)
    await tx
      .query(ChannelRow)
      .findOne('id', channelId)
      .patch({
        ...rating,
        ...(alert ? { lastAlert: { ...alert, at: (update.at ?? tx.now()).toISOString() } } : {}),
        updatedAt: tx.now(),
      })
    const hasNewRating = Object.entries(rating).some(([column, value]) => Reflect.get(channel, column) !== value)
    if (hasNewRating) await tx.record({ type: 'channel.quality_changed', data: { channelId } })
    if (hasNewRating && update.quality === 'red') await recordChannelAlert(tx, channelId, 'quality_limited')
    if (alert) await tx.record({ type: 'channel.alerted', data: { channelId } })
    if (sending === 'restricted' && channel.status === 'connected') {
      await degradeChannel(tx, channelId, alert?.message ?? 'The provider accepts no messages from this account')
    }
    if (sending === 'restored' && channel.status === 'degraded') {
      await reconnectChannel(tx, channelId)
      await tx.record({ type: 'channel.connected', data: { channelId } })
    }
    channel = await tx.get(ChannelRow, channelId)
  }
}

function pickReported({ quality, messagingLimit, throughput }: ChannelUpdate) {
  return {
    ...(quality === null ? {} : { quality }),
    ...(messagingLimit === null ? {} : { messagingLimit }),
    ...(throughput === null ? {} : { throughput }),
  }
}
