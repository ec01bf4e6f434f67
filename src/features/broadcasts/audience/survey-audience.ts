import type { SendableTemplate } from '../../../channels/templates/fill-template.ts'
import type { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { toPhoneKey } from '../../../platform/phone.ts'
import type { Scope } from '../../../scope/scope.ts'
import { findByPhone } from '../../contacts/find-or-create-contacts.ts'
import { type Candidate, loadCandidates } from './candidates.ts'
import { decideRecipients, type Decision } from './decide-recipients.ts'
import { isFullPortion, listPhones, listSources, type PhoneEntry, readPortion, type Source } from './sources.ts'

type Surveyed = Candidate & { ownParams?: Record<string, string> }

/**
 * Decides on the contacts of an audience without storing anything, portion by portion, each contact once. Phone numbers
 * that are no contacts yet count as contacts without consent. Ends when `signal` aborts.
 */
export async function* surveyAudience(
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
  for (let after: number | null = -1; after !== null;) {
    const rows: PhoneEntry[] = await listPhones(scope, broadcast.id, after)
    const contactIds = await findByPhone(scope, rows)
    const ownParams = new Map<string, Record<string, string>>()
    for (const { phone, params } of rows.toReversed()) ownParams.set(contactIds.get(toPhoneKey(phone)) ?? '', params)
    const known = await loadCandidates(scope, broadcast, [...new Set(contactIds.values())])
    const unknown = rows.filter(({ phone }) => !contactIds.has(toPhoneKey(phone)))
    yield [
      ...known.map((candidate) => ({ ...candidate, ownParams: ownParams.get(candidate.contactId) ?? {} })),
      ...unknown.map((row) => ({ ...toNewContact(row), ownParams: row.params })),
    ]
    after = isFullPortion(rows) ? (rows.at(-1)?.position ?? null) : null
  }
}

/** The contact that a phone number becomes when the broadcast starts. */
function toNewContact({ phone, name }: PhoneEntry): Candidate {
  const contact = { name: name ?? phone, phone, email: null, language: null, country: null, timezone: null, fields: {} }
  return {
    contactId: '',
    address: phone,
    timezone: 'UTC',
    blocked: false,
    marketingConsent: 'unknown',
    serviceConsent: 'unknown',
    isAddressTaken: false,
    isCapped: false,
    facts: { contact, workspace: {} },
  }
}
