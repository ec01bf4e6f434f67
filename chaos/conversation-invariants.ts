import type { Customer } from './customer-factory.ts'
import type { Recorded } from './database-snapshot.ts'
import type { Shop } from './fake-shop-server.ts'
import type { Workspace } from './workspace.ts'

export type Check = { name: string; checked: number; violations: string[] }

/** A customer, and what the rows say of them. */
type Told = { workspace: Workspace; customer: Customer } & ReturnType<Recorded['of']>
type Rule = { name: string; find(told: Told, records: Recorded): { checked: number; wrong: string[] } }

const RULES: Rule[] = [
  {
    name: 'each inbound webhook is one message',
    find: ({ customer, inbound }) => ({
      checked: customer.lines.length,
      wrong: customer.lines.flatMap(({ wamid }) => {
        const count = inbound.filter(({ ref }) => ref === wamid).length
        return count === 1 ? [] : [`${wamid} is ${count} messages`]
      }),
    }),
  },
  {
    name: 'each event starts its workflow once',
    find: ({ customer: { dialogue }, inbound, runs }) => ({
      checked: runs.length,
      wrong: dialogue.runs(bodiesOf(inbound)).includes(runs.length)
        ? []
        : [`to ${JSON.stringify(bodiesOf(inbound))} started ${runs.length} runs`],
    }),
  },
  {
    name: 'one answer for each that is expected, in order',
    find({ customer: { dialogue, phone }, inbound, outbound }) {
      const said = bodiesOf(outbound)
      const allowed = dialogue.answers(bodiesOf(inbound), `+${phone}`)
      const isRight = allowed.some((answers) => JSON.stringify(answers) === JSON.stringify(said))
      const wrong = isRight ? [] : [`to ${JSON.stringify(bodiesOf(inbound))} was said ${JSON.stringify(said)}`]
      return { checked: said.length, wrong }
    },
  },
  {
    name: 'runs are settled, or wait as they are meant to',
    find: ({ customer: { dialogue }, runs }) => ({
      checked: runs.length,
      wrong: [
        ...same('waiting runs', runs.filter(({ status }) => status === 'waiting').length, dialogue.waiting ?? 0),
        ...runs.flatMap(({ id, status }) =>
          status === 'completed' || status === 'waiting' ? [] : [`run ${id} is ${status}`],
        ),
      ],
    }),
  },
  {
    name: 'runs have the order of their events',
    find: ({ runs }) => ({
      checked: runs.length,
      wrong: isAscending(runs.map(({ eventId }) => eventId)) ? [] : ['runs are out of order'],
    }),
  },
  {
    name: 'the provider got messages in their order',
    find({ workspace, customer, outbound }, records) {
      const taken = records.taken(workspace, customer)
      const told = outbound.map(({ id, status, code }) => `${taken.indexOf(id) + 1}: ${id} ${status} ${code ?? ''}`)
      const late = findLate(taken, records.doubted)
      const wrong = late.map((id) => `${id} was never in doubt and was overtaken; they came as ${told.join(', ')}`)
      return { checked: taken.length, wrong }
    },
  },
]

/**
 * The messages that came after a newer one and had no right to. A message goes out once the outcome of the one before it
 * is known, or is given up as unknown: a call that broke off, or whose process died, may still be on its way then, and
 * nobody can call it back. So one that was in doubt may come late. It may not come early, and no other may come late.
 */
export function findLate(taken: string[], doubted: Set<string>): string[] {
  let newest = ''
  return taken.filter((id) => {
    const isLate = id < newest
    if (!isLate) newest = id
    return isLate && !doubted.has(id)
  })
}

/** What must hold of each customer, whatever was killed when. */
export function checkConversations(workspaces: Workspace[], records: Recorded): Check[] {
  const everybody = workspaces.flatMap((workspace) =>
    workspace.customers.map((customer) => ({ workspace, customer, ...records.of(workspace.tenantId, customer.phone) })),
  )
  return RULES.map(({ name, find }) => {
    const found = everybody.map((told) => ({ told, ...find(told, records) }))
    return {
      name,
      checked: found.reduce((sum, { checked }) => sum + checked, 0),
      violations: found.flatMap(({ told: { customer }, wrong }) =>
        wrong.map((text) => `+${customer.phone} (${customer.dialogue.name}): ${text}`),
      ),
    }
  })
}

/** Each message goes out once; where a process died in between, it may have gone out or not, and says so. */
export function checkSends(workspaces: Workspace[], records: Recorded): Check {
  const violations: string[] = []
  let checked = 0
  for (const workspace of workspaces) {
    for (const customer of workspace.customers) {
      const taken = records.taken(workspace, customer)
      const { outbound } = records.of(workspace.tenantId, customer.phone)
      const known = new Set(outbound.map(({ id }) => id))
      for (const id of taken) if (!known.has(id)) violations.push(`the provider took ${id}, which is no message`)
      for (const { id, status, code } of outbound) {
        const times = taken.filter((one) => one === id).length
        checked += 1
        const isInDoubt = status === 'failed' && code === 'delivery_unknown'
        const isRight = isInDoubt ? times <= 1 : ['sent', 'delivered', 'read'].includes(status) && times === 1
        if (!isRight) violations.push(`message ${id} is ${status} (${code ?? 'no error'}), taken ${times} times`)
      }
    }
  }
  return { name: 'a message is taken once, or is in doubt and taken at most once', checked, violations }
}

export function countDoubts(workspaces: Workspace[], records: Recorded): { arrived: number; lost: number } {
  const counts = { arrived: 0, lost: 0 }
  for (const workspace of workspaces) {
    for (const customer of workspace.customers) {
      const taken = records.taken(workspace, customer)
      for (const { id, code } of records.of(workspace.tenantId, customer.phone).outbound) {
        if (code === 'delivery_unknown') counts[taken.includes(id) ? 'arrived' : 'lost'] += 1
      }
    }
  }
  return counts
}

/** Messages of which the provider told that they were read, and who told it. */
export function checkStatuses(workspaces: Workspace[], records: Recorded): Check {
  const violations: string[] = []
  let checked = 0
  for (const workspace of workspaces.filter(({ habit }) => habit.tells)) {
    for (const customer of workspace.customers) {
      const taken = new Set(records.taken(workspace, customer))
      for (const { id, status } of records.of(workspace.tenantId, customer.phone).outbound) {
        if (!taken.has(id)) continue
        checked += 1
        if (status !== 'read') violations.push(`message ${id} was read, and is ${status}`)
      }
    }
  }
  return { name: 'statuses only rise, in whatever order they come', checked, violations }
}

/** However often a call was made again, it was for one order: each customer has as many as they asked for. */
export function checkOrders(workspaces: Workspace[], { orders }: Shop): Check {
  const asked = workspaces.flatMap(({ customers }) =>
    customers.flatMap(({ phone, lines }) =>
      lines.filter(({ body }) => body.startsWith('order')).map(() => `+${phone}`),
    ),
  )
  const taken = [...orders.values()].map((order) => (JSON.parse(order) as { phone: string }).phone)
  const violations = [...new Set([...asked, ...taken])].flatMap((phone) => {
    const [wanted, had] = [asked, taken].map((list) => list.filter((one) => one === phone).length)
    return wanted === had ? [] : [`${phone} asked for ${wanted} orders and has ${had}`]
  })
  return { name: 'calls outside are made again under the same key', checked: asked.length, violations }
}

function bodiesOf(messages: { body: string }[]): string[] {
  return messages.map(({ body }) => body)
}

function same(what: string, found: number, expected: number): string[] {
  return found === expected ? [] : [`${found} ${what} instead of ${expected}`]
}

function isAscending(values: string[]): boolean {
  return values.every((value, index) => index === 0 || (values[index - 1] as string) <= value)
}
