import type pg from 'pg'
import { type BroadcastReport, type ChaosBroadcast, toExpectedBody } from './broadcast.ts'
import type { InvariantResult } from './invariant.ts'
import { sendsStatuses, settlesDoubts } from './workspace.ts'

type Recipient = {
  address: string
  status: string
  providerMessageId: string | null
  acceptedCount: number
  isDoubted: boolean
}
type Broadcast = { status: string; pausedReason: string | null }
/** The part of a broadcast that the API shows. */
type Shown = { counts: Record<string, number>; report: BroadcastReport }
type Outcome = ChaosBroadcast & Shown & { broadcast: Broadcast; recipients: Recipient[] }

export type BroadcastCounts = {
  recipients: number
  accepted: number
  byStatus: Record<string, number>
  /** Recipients whose delivery was unknown at any time, and of those the ones that a status settled. */
  doubts: number
  settledDoubts: number
}

const ACCEPTED = ['sent', 'delivered', 'read']
const FINAL = [...ACCEPTED, 'failed', 'skipped', 'canceled', 'unknown']

/** Compares the broadcasts and their reports with the provider's own log of accepted messages, recipient by recipient. */
export async function checkBroadcasts(
  client: pg.Client,
  broadcasts: (ChaosBroadcast & Shown)[],
): Promise<{ counts: BroadcastCounts; results: InvariantResult[] }> {
  const outcomes: Outcome[] = []
  for (const broadcast of broadcasts) outcomes.push(await readOutcome(client, broadcast))
  const recipients = outcomes.flatMap((outcome) => outcome.recipients)
  return {
    counts: {
      recipients: recipients.length,
      accepted: outcomes.reduce((sum, outcome) => sum + listTemplateSends(outcome).length, 0),
      byStatus: countBy(recipients.map(({ status }) => status)),
      doubts: recipients.filter(({ isDoubted }) => isDoubted).length,
      settledDoubts: recipients.filter(({ isDoubted, status }) => isDoubted && status !== 'unknown').length,
    },
    results: [
      check('the provider accepted at most one message of a broadcast per person', outcomes, findRepeatedSends),
      check('every person of the audience is a recipient, and every recipient has ended', outcomes, findOpen),
      check('recipients and the log of the provider agree line by line', outcomes, findDisagreements),
      check('the counts of a broadcast are those of its recipients', outcomes, findWrongCounts),
      check('the report of a broadcast agrees with its recipients', outcomes, findWrongReport),
    ],
  }
}

async function readOutcome(client: pg.Client, broadcast: ChaosBroadcast & Shown): Promise<Outcome> {
  const keys = [broadcast.workspace.tenantId, broadcast.id]
  const recipients = await client.query<Recipient>(
    `select address, status, provider_message_id as "providerMessageId", accepted_count as "acceptedCount",
       doubted_at is not null as "isDoubted"
     from broadcast_recipients where tenant_id = $1 and broadcast_id = $2 order by id`,
    keys,
  )
  const rows = await client.query<Broadcast>(
    'select status, status_reason as "pausedReason" from broadcasts where tenant_id = $1 and id = $2',
    keys,
  )
  const [row = { status: 'missing', pausedReason: null }] = rows.rows
  return { ...broadcast, broadcast: row, recipients: recipients.rows }
}

type Finder = (outcome: Outcome) => string[]

function check(name: string, outcomes: Outcome[], find: Finder): InvariantResult {
  const checked = outcomes.reduce((sum, { people }) => sum + people.size, 0)
  return { name, checked, violations: outcomes.flatMap(find) }
}

function listTemplateSends({ workspace }: ChaosBroadcast) {
  return workspace.provider.accepted.filter(({ payload }) => payload['type'] === 'template')
}

function findRepeatedSends(outcome: Outcome): string[] {
  const counts = countBy(listTemplateSends(outcome).map(({ recipient }) => recipient))
  return Object.entries(counts).flatMap(([phone, count]) => (count > 1 ? [`${phone} was sent ${count} messages`] : []))
}

function findOpen({ people, recipients, broadcast }: Outcome): string[] {
  const listed = new Set(recipients.map(({ address }) => address))
  return [
    ...(broadcast.status === 'completed' ? [] : [`the broadcast is ${broadcast.status} (${broadcast.pausedReason})`]),
    ...[...people.keys()].filter((phone) => !listed.has(phone)).map((phone) => `${phone} is no recipient`),
    ...(recipients.length > people.size ? [`there are ${recipients.length} recipients for ${people.size} people`] : []),
    ...recipients.flatMap(({ address, status }) => (FINAL.includes(status) ? [] : [`${address} is ${status}`])),
  ]
}

function findDisagreements(outcome: Outcome): string[] {
  const { workspace, people, recipients } = outcome
  const { provider } = workspace
  const violations: string[] = []
  for (const { address, status, providerMessageId, acceptedCount } of recipients) {
    const [send] = provider.log.listFor(address).filter(({ payload }) => payload['type'] === 'template')
    const isKnown = ACCEPTED.includes(status)
    if (!send) {
      if (isKnown || acceptedCount > 0) violations.push(`${address} is ${status}, but the provider accepted nothing`)
      continue
    }
    if (send.body !== toExpectedBody(people.get(address) ?? '')) violations.push(`${address} was sent "${send.body}"`)
    if (!isKnown && (status !== 'unknown' || settlesDoubts(workspace)))
      violations.push(`${address} is ${status}, but the provider accepted ${send.wamid}`)
    if (isKnown && (providerMessageId !== send.wamid || acceptedCount !== 1))
      violations.push(`${address} states ${providerMessageId} and ${acceptedCount} accepted, not ${send.wamid}`)
    if (isKnown && sendsStatuses(workspace) && status !== 'read')
      violations.push(`${address} is ${status}, but the provider reported that it was read`)
  }
  const listed = new Set(recipients.map(({ address }) => address))
  const unknownRecipients = listTemplateSends(outcome).filter(({ recipient }) => !listed.has(recipient))
  return [
    ...violations,
    ...unknownRecipients.map(({ recipient }) => `${recipient} was sent a message, but is no recipient`),
  ]
}

function findWrongCounts({ counts, recipients }: Outcome): string[] {
  const actualCounts = countBy(recipients.map(({ status }) => status))
  const names = [...new Set([...Object.keys(actualCounts), ...FINAL, 'pending', 'sending'])]
  return names.flatMap((name) => {
    const [stated, actual] = [counts[name] ?? 0, actualCounts[name] ?? 0]
    return stated === actual ? [] : [`the broadcast counts ${stated} recipients that are ${name}, but has ${actual}`]
  })
}

function findWrongReport({ report, recipients }: Outcome): string[] {
  const counts = countBy(recipients.map(({ status }) => status))
  const doubted = recipients.filter(({ isDoubted }) => isDoubted)
  const open = doubted.filter(({ status }) => status === 'unknown').length
  const wrong = FINAL.filter((name) => (report.counts[name] ?? 0) !== (counts[name] ?? 0))
  return [
    ...wrong.map((name) => `the report counts ${report.counts[name]} ${name}, but there are ${counts[name] ?? 0}`),
    ...(report.countsAddUp ? [] : ['the counts of the report do not add up']),
    ...report.acceptedTwice.map((recipient) => `the report states a second message: ${JSON.stringify(recipient)}`),
    ...(report.doubts.total === doubted.length && report.doubts.open === open
      ? []
      : [`the report states ${JSON.stringify(report.doubts)}, but there were ${doubted.length} doubts, ${open} open`]),
  ]
}

function countBy(names: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
