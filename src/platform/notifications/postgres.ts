import pg from 'pg'
import { CONNECTION, closeWhenUnanswered, OpenSockets } from '../database/connections.ts'
import { ServerClient } from '../database/servers/server-client.ts'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import { Notifications, type Topic, TOPICS } from './notifications.ts'

/** Names of the channels begin with it. */
const PREFIX = 'parley_'
/** PostgreSQL takes payloads of less than 8,000 bytes. */
const PAYLOAD_MAX = 7_900
const PROBE_MS = 15 * SECOND
const PROBE_ANSWER_MS = 5 * SECOND
/** Time between two statements that notify: what is published meanwhile is sent together. */
const PAUSE_MS = 20

/**
 * Notifications over LISTEN/NOTIFY. Every commit that notifies takes one server-wide lock, so notifications are sent
 * outside business transactions: the first one at once, those that follow within 20 ms together, and those of jobs at once.
 */
export class PostgresNotifications extends Notifications {
  readonly #url: string
  readonly #log: Logger
  readonly #pending = new Map<Topic, Set<string>>()
  readonly #sender: pg.Pool
  readonly #sockets = new OpenSockets()
  #listener: pg.Client | undefined
  #isScheduled = false
  #timer: NodeJS.Timeout | undefined
  #flushedAtMs = -Infinity
  #closed = false

  constructor(options: { url: string; log: Logger }) {
    super()
    this.#url = options.url
    this.#log = options.log
    this.#sender = new pg.Pool({
      connectionString: options.url,
      Client: ServerClient,
      max: 1,
      application_name: 'parley notifications',
      ...CONNECTION,
    })
    this.#sender.on('error', () => undefined)
    this.#sender.on('connect', (client) => {
      closeWhenUnanswered(client, PROBE_ANSWER_MS)
      this.#sockets.add(client)
    })
  }

  async open(): Promise<void> {
    const listener = new ServerClient({
      connectionString: this.#url,
      application_name: 'parley notifications',
      ...CONNECTION,
    })
    listener.on('notification', ({ channel, payload = '' }) => this.#receive(channel, payload))
    await listener.connect()
    closeWhenUnanswered(listener, PROBE_ANSWER_MS)
    this.#sockets.add(listener)
    await listener.query(TOPICS.map((topic) => `listen ${PREFIX}${topic}`).join(';'))
    // A listener sends nothing, so only a statement shows that its connection still works.
    const probe = setInterval(() => void listener.query('select 1').catch(() => undefined), PROBE_MS)
    // From here on: until then the caller of `open` retries, and only one may.
    listener.on('end', () => {
      clearInterval(probe)
      this.#reopen()
    })
    this.#listener = listener
    this.wakeAll()
  }

  async close(): Promise<void> {
    this.#closed = true
    const ended = Promise.all([this.#listener?.end(), this.#flush().then(() => this.#sender.end())])
    await this.#sockets.closeAfter(ended)
  }

  protected send(topic: Topic, text: string): void {
    const texts = this.#pending.get(topic) ?? new Set()
    this.#pending.set(topic, texts.add(text))
    // Those of jobs are merged before they are published.
    const isUrgent = topic === 'jobs'
    if (this.#isScheduled && !isUrgent) return
    this.#isScheduled = true
    const pauseMs = isUrgent ? 0 : this.#flushedAtMs + PAUSE_MS - performance.now()
    clearTimeout(this.#timer)
    if (pauseMs > 0) this.#timer = setTimeout(() => void this.#flush(), pauseMs)
    else setImmediate(() => void this.#flush())
  }

  #receive(channel: string, payload: string): void {
    const topic = TOPICS.find((name) => channel === `${PREFIX}${name}`)
    if (topic) for (const text of payload.split(',')) this.deliver(topic, text)
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false
    this.#flushedAtMs = performance.now()
    const payloads = [...this.#pending].flatMap(([topic, texts]) =>
      toPayloads(texts).map((payload) => [`${PREFIX}${topic}`, payload]),
    )
    this.#pending.clear()
    if (payloads.length === 0) return
    try {
      await this.#sender.query(
        'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) n (channel, payload)',
        [payloads.map(([channel]) => channel), payloads.map(([, payload]) => payload)],
      )
    } catch (error) {
      if (!this.#closed)
        this.#log.warn(
          { event: 'notifications_lost', err: error },
          'notifications were lost; subscribers will find what they announced',
        )
    }
  }

  #reopen(): void {
    if (this.#closed) return
    setTimeout(() => {
      if (!this.#closed) this.open().catch(() => this.#reopen())
    }, SECOND).unref()
  }
}

/** Joins texts to payloads that PostgreSQL takes. */
function toPayloads(texts: Iterable<string>): string[] {
  const payloads: string[] = []
  for (const text of texts) {
    const last = payloads.at(-1)
    if (last === undefined || last.length + text.length >= PAYLOAD_MAX) payloads.push(text)
    else payloads[payloads.length - 1] = `${last},${text}`
  }
  return payloads
}
