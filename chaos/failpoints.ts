import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findSocket } from '../src/platform/database/connections.ts'
import { getField } from '../src/platform/fields.ts'
import { killPostgres } from './kill-postgres.ts'

const BROADCAST_TRANSACTION = 'queue broadcast'

/**
 * Every second transaction of statuses pauses before its commit, longer than the response of a send takes to be stored:
 * without it, the two hardly ever overlap.
 */
const STATUSES_TRANSACTION = 'statuses'
const STATUSES_PAUSE_MS = 150

/** Stores the jobs of a process for the workers of others. */
const HANDOVER_TRANSACTION = 'hand jobs over'

/** Transactions by name, each recognized by a statement that only it contains. */
const TRANSACTIONS: [name: string, statement: RegExp][] = [
  ['ingest', /\/\* insertInboundIds \*\//],
  [STATUSES_TRANSACTION, /insert into message_statuses/],
  ['advance', /delete from mailbox_items/],
  ['claim messages', /update outbox o set leased_at = /],
  ['finish messages', /\/\* (?:storeAccepted|failMessages) \*\//],
  [HANDOVER_TRANSACTION, /insert into wakeups/],
  ['claim jobs', /delete from wakeups/],
  [BROADCAST_TRANSACTION, /update broadcast_recipients r set status = 'sending'/],
  ['fire timers', /update run_waits w set due_at = null/],
  ['claim webhooks', /update webhook_endpoints e set leased_until = /],
  ['record webhooks', /select status from webhook_endpoints e[\s\S]*for update/],
  ['claim external calls', /update external_calls e set due_at/],
  ['finish external call', /delete from external_calls where/],
]

const HTTP_TRANSACTIONS = ['ingest', STATUSES_TRANSACTION, HANDOVER_TRANSACTION]
/** They have no moment inside them. */
const SINGLE_STATEMENTS = [HANDOVER_TRANSACTION, 'claim jobs', 'claim webhooks', 'claim external calls']
/** Calls by name, each recognized by the end of its path. */
const CALLS: [name: string, path: string][] = [
  ['provider call', '/messages'],
  ['webhook call', '/events'],
]
const MOMENTS = ['inside', 'before', 'during', 'after'] as const

/**
 * A point at which a process can be killed or frozen: `inside` a transaction, `before` its commit is sent, `during` the commit (sent,
 * response not awaited), or `after` the response. Each call to the provider or to a webhook endpoint has a
 * failpoint before and one after it.
 */
export type Failpoint = `${(typeof MOMENTS)[number]} ${string}`

/** Lists the failpoints of a role; those of broadcasts only if there are any. */
export function listFailpoints(role: 'http' | 'worker', { hasBroadcasts }: { hasBroadcasts: boolean }): Failpoint[] {
  const transactions = TRANSACTIONS.map(([name]) => name).filter(
    (name) =>
      HTTP_TRANSACTIONS.includes(name) === (role === 'http') && (hasBroadcasts || name !== BROADCAST_TRANSACTION),
  )
  const commits = transactions
    .flatMap((name) => MOMENTS.map((moment): Failpoint => `${moment} ${name}`))
    .filter((failpoint) => !SINGLE_STATEMENTS.some((name) => failpoint === `inside ${name}`))
  return role === 'http'
    ? commits
    : [...commits, ...CALLS.flatMap(([name]) => [`before ${name}`, `after ${name}`] as const)]
}

/**
 * Kills or freezes this process, or kills the database server, when the failpoint is reached after it was passed `skip`
 * times. A process reports that it freezes.
 */
export type ArmedFailpoint = { failpoint: Failpoint; skip: number } & (
  { action: 'exit' | 'freeze' } | { action: 'kill_database'; dataFolder: string }
)

let armed: ArmedFailpoint | undefined

/** Arms a failpoint, or disarms the current one if called with undefined. */
export function armFailpoint(failpoint: ArmedFailpoint | undefined): void {
  armed = failpoint && { ...failpoint }
}

function hitFailpoint(failpoint: Failpoint): void {
  if (armed?.failpoint !== failpoint) return
  armed.skip -= 1
  if (armed.skip >= 0) return
  const reached = armed
  armed = undefined
  if (reached.action === 'kill_database') return killPostgres(reached.dataFolder)
  if (reached.action === 'exit') return void process.kill(process.pid, 'SIGKILL')
  process.send?.({ kind: 'frozen' })
  process.kill(process.pid, 'SIGSTOP')
}

/** Name of the open transaction of each connection; null until a statement identifies it. */
const transactionNames = new WeakMap<object, string | null>()

type Query = (this: object, ...args: unknown[]) => unknown

/** Patches the Postgres driver of this process; the code under test contains no failpoints itself. */
function instrumentQueries(): void {
  const prototype = pg.Client.prototype as unknown as { query: Query }
  const query = prototype.query
  prototype.query = function (...args) {
    const text = toQueryText(args[0])
    if (/^begin/i.test(text)) transactionNames.set(this, null)
    const isSingleStatement = !transactionNames.has(this)
    const name = transactionNames.get(this) ?? TRANSACTIONS.find(([, statement]) => statement.test(text))?.[0]
    const isEnd = /^(commit|rollback)/i.test(text)
    if (isEnd) transactionNames.delete(this)
    if (name === undefined) return query.apply(this, args)
    // A statement outside an explicit transaction commits by itself.
    if (!isSingleStatement && !isEnd) {
      const isFirst = transactionNames.get(this) !== name
      transactionNames.set(this, name)
      return runQuery(query, this, args, () => {
        hitFailpoint(`inside ${name}`)
        return isFirst && name === STATUSES_TRANSACTION ? pauseEverySecond() : undefined
      })
    }
    hitFailpoint(`before ${name}`)
    const result = runQuery(query, this, args, () => hitFailpoint(`after ${name}`))
    if (armed) sendNow(this)
    hitFailpoint(`during ${name}`)
    return result
  }
}

let statusesTransactions = 0

function pauseEverySecond(): Promise<void> | undefined {
  statusesTransactions += 1
  return statusesTransactions % 2 === 0 ? delay(STATUSES_PAUSE_MS) : undefined
}

/** The client sends the statements of a turn of the event loop together, at its end. */
function sendNow(client: object): void {
  const socket = findSocket(client)
  while (socket?.writableCorked) socket.uncork()
}

function toQueryText(query: unknown): string {
  if (typeof query === 'string') return query
  const text: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, 'text') : undefined
  return typeof text === 'string' ? text : ''
}

/**
 * Runs a query in the callback or the promise form and calls `onResponse` before the caller gets the response, which waits
 * for what that returns.
 */
function runQuery(query: Query, client: object, args: unknown[], onResponse: () => Promise<void> | void): unknown {
  const callback = args.at(-1)
  if (typeof callback !== 'function') {
    const result = query.apply(client, args)
    return result instanceof Promise ? result.finally(onResponse) : result
  }
  const wrappedCallback = (...response: unknown[]) => {
    const pause = onResponse()
    if (pause) void pause.then(() => Reflect.apply(callback, undefined, response))
    else Reflect.apply(callback, undefined, response)
  }
  return query.apply(client, [...args.slice(0, -1), wrappedCallback])
}

/** Every HTTP client of Node reports its requests on these channels, synchronously. */
function instrumentCalls(): void {
  const hitOnCall = (moment: 'before' | 'after') => (message: unknown) => {
    const path = String(getField(getField(message, 'request'), 'path'))
    for (const [name, end] of CALLS) if (path.endsWith(end)) hitFailpoint(`${moment} ${name}`)
  }
  subscribe('undici:request:create', hitOnCall('before'))
  subscribe('undici:request:headers', hitOnCall('after'))
}

instrumentQueries()
instrumentCalls()
