import type { SendableTemplate } from '../../channels/templates/fill-template.ts'
import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { countryTimezone } from '../../platform/calendar/country-timezone.ts'
import { phoneCountry, toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { parseMessagingLimit, readRemainingLimit } from '../broadcast-recipients/messaging-limit.ts'
import { loadWorkspaceFacts } from '../contacts/contact-facts.ts'
import { findByPhone } from '../contacts/find-or-create-contacts.ts'
import { loadSendableTemplate } from '../templates/sendable-template.ts'
import { type Candidate, loadCandidates } from './audience/candidates.ts'
import { decideRecipients, type Decision } from './audience/decide-recipients.ts'
import {
  isFullPortion,
  listPhones,
  listSources,
  type PhoneEntry,
  readPortion,
  type Source,
} from './audience/sources.ts'
import type { BroadcastEstimate, BroadcastPreview, BroadcastRef, PreviewBroadcast } from './schema.ts'
import { assertStatus } from './transitions.ts'

/** An estimate ends after this many contacts. */
const SURVEYED_MAX = 20_000

type Surveyed = Candidate & { ownParams?: Record<string, string> }

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
    complete: total < SURVEYED_MAX,
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

/**
 * Decides on the contacts of an audience without storing anything, portion by portion, each contact once. Phone numbers
 * that are no contacts yet count as contacts without consent. Ends when `signal` aborts.
 */
async function* surveyAudience(
  scope: Scope,
  broadcast: BroadcastRow,
  template: SendableTemplate,
  signal: AbortSignal | undefined,
): AsyncGenerator<Decision[]> {
  const seen = new Set<string>()
  const addresses = new Set<string>()
  for (const source of listSources(broadcast.audience)) {
    for await (const candidates of readCandidates(scope, broadcast, source)) {
      signal?.throwIfAborted()
      const unseen = candidates.filter(({ contactId, address }) => {
        const key = contactId || (address ?? '')
        return !seen.has(key) && seen.add(key)
      })
      const decisions = await decideRecipients(
        broadcast,
        template,
        unseen.map((candidate) => ({
          ...candidate,
          isAddressTaken: candidate.address !== null && addresses.has(candidate.address),
        })),
      )
      for (const { candidate, skipReason } of decisions) {
        if (skipReason === null && candidate.address !== null) addresses.add(candidate.address)
      }
      yield decisions
    }
  }
}

async function* readCandidates(scope: Scope, broadcast: BroadcastRow, source: Source): AsyncGenerator<Surveyed[]> {
  if (source.kind === 'phones') return yield* readPhoneCandidates(scope, broadcast)
  for (let after: string | null | undefined; after !== null;) {
    const portion = await readPortion(scope, broadcast.id, source, after ?? null)
    yield await loadCandidates(
      scope,
      broadcast,
      portion.contacts.map(({ contactId }) => contactId),
    )
    after = portion.after
  }
}

async function* readPhoneCandidates(scope: Scope, broadcast: BroadcastRow): AsyncGenerator<Surveyed[]> {
  const workspace = await loadWorkspaceFacts(scope)
  for (let after: number | null = -1; after !== null;) {
    const rows: PhoneEntry[] = await listPhones(scope, broadcast.id, after)
    const contactIds = await findByPhone(scope, rows)
    const ownParams = new Map<string, Record<string, string>>()
    for (const { phone, params } of rows.toReversed()) ownParams.set(contactIds.get(toPhoneKey(phone)) ?? '', params)
    const known = await loadCandidates(scope, broadcast, [...new Set(contactIds.values())])
    const unknown = rows.filter(({ phone }) => !contactIds.has(toPhoneKey(phone)))
    yield [
      ...known.map((candidate) => ({ ...candidate, ownParams: ownParams.get(candidate.contactId) ?? {} })),
      ...unknown.map((row) => ({ ...toNewContact(row, workspace), ownParams: row.params })),
    ]
    after = isFullPortion(rows) ? (rows.at(-1)?.position ?? null) : null
  }
}

/** The contact that a phone number becomes when the broadcast starts. */
function toNewContact({ phone, name }: PhoneEntry, workspace: Record<string, unknown>): Candidate {
  const country = phoneCountry(phone)
  const contact = { name: name ?? phone, phone, email: null, language: null, country, timezone: null, fields: {} }
  return {
    contactId: '',
    address: phone,
    timezone: countryTimezone(country) ?? String(workspace['timezone']),
    blocked: false,
    marketingConsent: 'unknown',
    serviceConsent: 'unknown',
    isAddressTaken: false,
    isCapped: false,
    facts: { contact, workspace },
  }
}
