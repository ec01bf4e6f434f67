import type { Inbound, PreferenceUpdate } from '../../channels/channel.ts'
import type { Scope } from '../../scope/scope.ts'
import { applyChannelUpdates } from '../channels/apply-channel-updates.ts'
import { applyPreferences } from '../consent/provider-choices.ts'
import { keepWebhooks, type RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
import { applyTemplateUpdates } from '../templates/apply-template-updates.ts'
import { changeNumbers } from './change-numbers.ts'
import { carryBetweenContacts, resolveSenders, senderKey } from './resolve-senders.ts'
import { storeEchoes } from './store-echoes.ts'

export type Updates = Pick<Inbound, 'echoes' | 'numberChanges' | 'preferences' | 'channelUpdates' | 'templateUpdates'>

type NewUpdates = {
  channelId: string
  calls: Updates[]
  /** Webhook calls without messages and statuses, which are kept. */
  webhooks?: RawWebhook[]
  lockTimeoutMs?: number
}

/** Applies, in one transaction, the parts of webhook calls that are neither messages nor statuses. */
export async function applyUpdates(
  scope: Scope,
  { channelId, calls, webhooks = [], ...options }: NewUpdates,
): Promise<void> {
  await scope.transaction(
    async (tx) => {
      await keepWebhooks(tx, channelId, webhooks)
      await storeEchoes(
        tx,
        channelId,
        calls.flatMap(({ echoes }) => echoes),
      )
      await changeNumbers(
        tx,
        channelId,
        calls.flatMap(({ numberChanges }) => numberChanges),
      )
      await storePreferences(
        tx,
        channelId,
        calls.flatMap(({ preferences }) => preferences),
      )
      await applyChannelUpdates(
        tx,
        channelId,
        calls.flatMap(({ channelUpdates }) => channelUpdates),
      )
      await applyTemplateUpdates(
        tx,
        channelId,
        calls.flatMap(({ templateUpdates }) => templateUpdates),
      )
    },
    { size: calls.length, ...options },
  )
}

/** Finds the contacts, and creates those who never wrote: their choice must be known before somebody writes to them. */
async function storePreferences(tx: Scope, channelId: string, preferences: PreferenceUpdate[]): Promise<void> {
  if (preferences.length === 0) return
  const people = await resolveSenders(
    tx,
    channelId,
    preferences.map(({ from }) => ({ sender: from, providerMessageId: null })),
  )
  await applyPreferences(
    tx,
    preferences.flatMap(({ from, choice, detail, at }) => {
      const contactId = people.get(senderKey(from))?.contactId
      return contactId ? [{ contactId, channelId, marketing: choice, detail, at }] : []
    }),
  )
  await carryBetweenContacts(tx, channelId, people.values())
}
