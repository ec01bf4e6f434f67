import pg from 'pg'
import { dataDirectory } from '../src/platform/embedded-postgres/cluster/data-directory.ts'
import { killServer } from './kill-server.ts'

/** What a transaction is about, told by a statement that only it has. */
const TRANSACTIONS: [name: string, mark: RegExp][] = [
  ['ingest', /insert into provider_message_ids[\s\S]*'inbound'/],
  ['statuses', /insert into message_statuses/],
  ['advance', /delete from mailbox_items/],
  ['claim', /update outbox o set leased_at = /],
  ['settle', /delete from outbox o using given[\s\S]*update messages m set (provider_message_id|status = 'failed')/],
  ['wake', /update run_waits set due_at = null/],
  ['claim effects', /update external_calls e set due_at/],
  ['settle effect', /delete from "external_calls"/],
]

const HTTP_TRANSACTIONS = ['ingest', 'statuses']
const MOMENTS = ['inside', 'before', 'during', 'after'] as const

/**
 * `inside` a transaction, `before` its commit is sent, `during` it (sent, and nobody waits for the answer), `after` the
 * answer. The call to the provider has two of its own.
 */
export type Boundary = `${(typeof MOMENTS)[number]} ${string}`

export function boundariesOf(role: 'http' | 'worker'): Boundary[] {
  const own = TRANSACTIONS.map(([name]) => name).filter(
    (name) => HTTP_TRANSACTIONS.includes(name) === (role === 'http'),
  )
  const commits = own
    .flatMap((name) => MOMENTS.map((moment): Boundary => `${moment} ${name}`))
    // One statement, with nothing inside.
    .filter((boundary) => boundary !== 'inside claim effects')
  return role === 'http' ? commits : [...commits, 'before call', 'after call']
}

/** The next but `skip` passing of the boundary ends this process, or the database server. */
export type Arming = { boundary: Boundary; skip: number; victim: 'itself' | 'database' }

let armed: Arming | undefined

function reach(boundary: Boundary): void {
  if (armed?.boundary !== boundary) return
  armed.skip -= 1
  if (armed.skip >= 0) return
  const { victim } = armed
  armed = undefined
  if (victim === 'itself') process.kill(process.pid, 'SIGKILL')
  else killServer(dataDirectory(process.env['STORM_DATA_DIR'] ?? ''))
}

/** The transaction of each connection, by its name once that is known. */
const current = new WeakMap<object, string | null>()

type Query = (this: object, ...given: unknown[]) => unknown

/** Watches what goes over every connection of this process; the code under test knows nothing of it. */
function watchTransactions(): void {
  const prototype = pg.Client.prototype as unknown as { query: Query }
  const query = prototype.query
  prototype.query = function (...given) {
    const text = textOf(given[0])
    if (/^begin/i.test(text)) current.set(this, null)
    const isAlone = !current.has(this)
    const name = current.get(this) ?? TRANSACTIONS.find(([, mark]) => mark.test(text))?.[0]
    const isEnd = /^(commit|rollback)/i.test(text)
    if (isEnd) current.delete(this)
    if (name === undefined) return query.apply(this, given)
    // A statement outside of a transaction is one by itself.
    if (!isAlone && !isEnd) {
      current.set(this, name)
      return whenAnswered(query, this, given, () => reach(`inside ${name}`))
    }
    reach(`before ${name}`)
    const answer = whenAnswered(query, this, given, () => reach(`after ${name}`))
    reach(`during ${name}`)
    return answer
  }
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query
  const text: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, 'text') : undefined
  return typeof text === 'string' ? text : ''
}

function whenAnswered(query: Query, client: object, given: unknown[], then: () => void): unknown {
  const callback = given.at(-1)
  if (typeof callback !== 'function') {
    const answer = query.apply(client, given)
    return answer instanceof Promise ? answer.finally(then) : answer
  }
  const answered = (...answer: unknown[]) => {
    then()
    Reflect.apply(callback, undefined, answer)
  }
  return query.apply(client, [...given.slice(0, -1), answered])
}

function watchCalls(): void {
  const call = globalThis.fetch
  globalThis.fetch = async (...given) => {
    reach('before call')
    const response = await call(...given)
    reach('after call')
    return response
  }
}

watchTransactions()
watchCalls()

export function arm(arming: Arming | undefined): void {
  armed = arming && { ...arming }
}
