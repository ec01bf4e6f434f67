import type { Customer } from './customer-factory.ts'
import {
  type Conversation,
  type DatabaseSnapshot,
  listAcceptedIds,
  type Message,
  type Run,
} from './database-snapshot.ts'
import type { FakeShopServer } from './fake-shop-server.ts'
import type { InvariantResult } from './invariant.ts'
import { sendsStatuses, settlesDoubts, type Workspace } from './workspace.ts'

export type CustomerRecord = { workspace: Workspace; customer: Customer } & Conversation
type Invariant = {
  name: string
  check(record: CustomerRecord, snapshot: DatabaseSnapshot): { checked: number; violations: string[] }
}

const INVARIANTS: Invariant[] = [
  {
    name: 'every inbound webhook is stored as exactly one message',
    check: ({ customer, inbound }) => ({
      checked: customer.messages.length,
      violations: customer.messages.flatMap(({ wamid }) => {
        const count = inbound.filter(({ providerMessageId }) => providerMessageId === wamid).length
        return count === 1 ? [] : [`${wamid} is stored as ${count} messages`]
      }),
    }),
  },
  {
    name: 'every event starts its workflow exactly once',
    check: ({ customer: { scenario }, inbound, runs }) => ({
      checked: runs.length,
      violations: scenario.allowedRunCounts(toBodies(inbound)).includes(runs.length)
        ? []
        : [`the messages ${JSON.stringify(toBodies(inbound))} started ${runs.length} runs`],
    }),
  },
  {
    name: 'every expected reply is sent exactly once and in order',
    check({ customer: { scenario, phone }, inbound, outbound, runs }) {
      const replies = toBodies(outbound)
      const isUnanswered = replies.length === 0 && runs.some(isOutcomeUnknown)
      const isAllowed =
        isUnanswered ||
        scenario
          .allowedReplies(toBodies(inbound), `+${phone}`)
          .some((allowed) => JSON.stringify(allowed) === JSON.stringify(replies))
      return {
        checked: replies.length,
        violations: isAllowed
          ? []
          : [`the messages ${JSON.stringify(toBodies(inbound))} got the replies ${JSON.stringify(replies)}`],
      }
    },
  },
  {
    name: 'every run has completed or waits as its scenario expects',
    check({ customer: { scenario }, runs }) {
      const waiting = runs.filter(({ status }) => status === 'waiting').length
      const expected = scenario.waitingRuns ?? 0
      return {
        checked: runs.length,
        violations: [
          ...(waiting === expected ? [] : [`${waiting} runs wait instead of ${expected}`]),
          ...runs.flatMap((run) =>
            run.status === 'completed' || run.status === 'waiting' || isOutcomeUnknown(run)
              ? []
              : [`run ${run.id} is ${run.status}: ${run.error ?? 'no error'}`],
          ),
        ],
      }
    },
  },
  {
    name: 'runs start in the order of their events',
    check: ({ runs }) => ({
      checked: runs.length,
      violations: isAscending(runs.map(({ eventId }) => eventId)) ? [] : ['runs are out of order'],
    }),
  },
  {
    name: 'the provider receives messages in order',
    check({ workspace, customer, outbound }, snapshot) {
      const accepted = listAcceptedIds(workspace, customer)
      const order = outbound.map(
        ({ id, status, errorCode }) => `${accepted.indexOf(id) + 1}: ${id} ${status} ${errorCode ?? ''}`,
      )
      const violations = findOutOfOrder(accepted, snapshot.uncertainMessageIds).map(
        (id) =>
          `${id} arrived after a newer message although its delivery was never unknown; order: ${order.join(', ')}`,
      )
      return { checked: accepted.length, violations }
    },
  },
]

/** True for a run whose external call lost its process twice: it fails, because the call is not made a third time. */
function isOutcomeUnknown({ status, errorCode }: Run): boolean {
  return status === 'failed' && errorCode === 'outcome_unknown'
}

/**
 * Finds messages that arrived after a newer one although their delivery was never unknown. A message is sent once the
 * outcome of the previous one is final or recorded as unknown; in the second case the request of the previous message may
 * still be in flight and cannot be cancelled. So only a message with unknown delivery may arrive late, and none may
 * arrive early.
 */
export function findOutOfOrder(acceptedIds: string[], uncertainIds: Set<string>): string[] {
  let newest = ''
  return acceptedIds.filter((id) => {
    const isLate = id < newest
    if (!isLate) newest = id
    return isLate && !uncertainIds.has(id)
  })
}

/** Checks the invariants of every conversation, which hold wherever processes were killed. */
export function checkConversations(workspaces: Workspace[], snapshot: DatabaseSnapshot): InvariantResult[] {
  const records = toRecords(workspaces, snapshot)
  return INVARIANTS.map(({ name, check }) => {
    const results = records.map((record) => ({ record, ...check(record, snapshot) }))
    return {
      name,
      checked: results.reduce((sum, { checked }) => sum + checked, 0),
      violations: results.flatMap(({ record: { customer }, violations }) =>
        violations.map((text) => `+${customer.phone} (${customer.scenario.name}): ${text}`),
      ),
    }
  })
}

/** Checks that messages arrive exactly once, or at most once if their delivery is recorded as unknown. */
export function checkDelivery(workspaces: Workspace[], snapshot: DatabaseSnapshot): InvariantResult {
  const violations: string[] = []
  let checked = 0
  for (const { workspace, customer, outbound } of toRecords(workspaces, snapshot)) {
    const accepted = listAcceptedIds(workspace, customer)
    const storedIds = new Set(outbound.map(({ id }) => id))
    for (const id of accepted)
      if (!storedIds.has(id)) violations.push(`the provider accepted ${id}, which is not stored`)
    for (const { id, status, errorCode } of outbound) {
      const count = accepted.filter((acceptedId) => acceptedId === id).length
      checked += 1
      const isUnknown = status === 'failed' && errorCode === 'delivery_unknown'
      const isValid = isUnknown ? count <= 1 : ['sent', 'delivered', 'read'].includes(status) && count === 1
      if (!isValid) violations.push(`message ${id} is ${status} (${errorCode ?? 'no error'}), accepted ${count} times`)
    }
  }
  return { name: 'a message is accepted once, or at most once if its delivery is unknown', checked, violations }
}

/** Counts the messages whose delivery is still unknown, by whether the provider has accepted them. */
export function countUnknownDeliveries(
  workspaces: Workspace[],
  snapshot: DatabaseSnapshot,
): { arrived: number; lost: number } {
  const counts = { arrived: 0, lost: 0 }
  for (const { workspace, customer, outbound } of toRecords(workspaces, snapshot)) {
    const accepted = listAcceptedIds(workspace, customer)
    for (const { id, errorCode } of outbound) {
      if (errorCode === 'delivery_unknown') counts[accepted.includes(id) ? 'arrived' : 'lost'] += 1
    }
  }
  return counts
}

/**
 * Checks that messages end as `read` where the provider has sent all statuses. If these name a message only by the
 * provider's ID, they cannot settle one whose response was not stored.
 */
export function checkStatuses(workspaces: Workspace[], snapshot: DatabaseSnapshot): InvariantResult {
  const violations: string[] = []
  let checked = 0
  for (const { workspace, customer, outbound } of toRecords(workspaces.filter(sendsStatuses), snapshot)) {
    const accepted = new Set(listAcceptedIds(workspace, customer))
    for (const message of outbound) {
      const { id, status } = message
      if (!accepted.has(id) || (!settlesDoubts(workspace) && isResponseUnknown(message))) continue
      checked += 1
      if (status !== 'read') violations.push(`message ${id} was reported as read, but is ${status}`)
    }
  }
  return { name: 'a message status never goes back, in whatever order statuses arrive', checked, violations }
}

function isResponseUnknown({ errorCode, providerMessageId }: Message): boolean {
  return errorCode === 'delivery_unknown' && providerMessageId === null
}

/**
 * Checks that retried calls created one order each: every customer has as many orders as requested. Only a call that lost
 * its process twice may have created none.
 */
export function checkOrders(
  workspaces: Workspace[],
  snapshot: DatabaseSnapshot,
  { orders }: FakeShopServer,
): InvariantResult {
  const created = [...orders.values()].map((order) => (JSON.parse(order) as { phone: string }).phone)
  const requested = toRecords(workspaces, snapshot).map(({ customer: { phone, messages }, runs }) => ({
    phone: `+${phone}`,
    count: messages.filter(({ body }) => body.startsWith('order')).length,
    lostMax: runs.filter(isOutcomeUnknown).length,
  }))
  const known = new Set(requested.map(({ phone }) => phone))
  const violations = requested.flatMap(({ phone, count, lostMax }) => {
    const actual = created.filter((entry) => entry === phone).length
    return actual <= count && actual >= count - lostMax ? [] : [`${phone} requested ${count} orders and has ${actual}`]
  })
  const unknown = created
    .filter((phone) => !known.has(phone))
    .map((phone) => `${phone} has an order, but is no customer`)
  return {
    name: 'every retry of an external call has the same idempotency key',
    checked: requested.reduce((sum, { count }) => sum + count, 0),
    violations: [...violations, ...unknown],
  }
}

export function toRecords(workspaces: Workspace[], snapshot: DatabaseSnapshot): CustomerRecord[] {
  return workspaces.flatMap((workspace) =>
    workspace.customers.map((customer) => ({
      workspace,
      customer,
      ...snapshot.getConversation(workspace.tenantId, customer.phone),
    })),
  )
}

function toBodies(messages: { body: string }[]): string[] {
  return messages.map(({ body }) => body)
}

function isAscending(values: string[]): boolean {
  return values.every((value, index) => index === 0 || (values[index - 1] ?? '') <= value)
}
