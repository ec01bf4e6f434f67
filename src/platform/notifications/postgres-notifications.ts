import pg from 'pg'
import { CONNECTION, closeWhenUnanswered, OpenSockets } from '../database/connections.ts'
import { ServerClient } from '../database/servers/server-client.ts'
import type { Logger } from '../log.ts'
import { LocalNotifications } from './local-notifications.ts'
import type { Notifications } from './notifications.ts'
import { SECOND } from '../time.ts'

const CHANNEL = 'parley_events'
const PROBE_MS = 15 * SECOND
const PROBE_ANSWER_MS = 5 * SECOND
/** Time between two statements that notify: what is published meanwhile is sent together. */
const PAUSE_MS = 20

/**
 * Notifications over LISTEN/NOTIFY. Every commit that notifies takes one server-wide lock, so notifications are sent
 * outside business transactions: the first one at once, those that follow within 20 ms together.
 */
export class PostgresNotifications implements Notifications {
  readonly #url: string
  readonly #log: Logger
  readonly #local = new LocalNotifications()
  readonly #pending = new Set<string>()
  readonly #sender: pg.Pool
  readonly #sockets = new OpenSockets()
  readonly #receivers: ((text: string) => void)[] = []
  #listener: pg.Client | undefined
  #isScheduled = false
  #flushedAtMs = -Infinity
  #closed = false

  constructor(options: { url: string; log: Logger }) {
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
    listener.on('notification', ({ payload }) => this.#receive((payload ?? '').split(',')))
    await listener.connect()
    await listener.query(`listen ${CHANNEL}`)
    // Set after the connection is established: until then the caller of `open` retries, and only one may.
    closeWhenUnanswered(listener, PROBE_ANSWER_MS)
    this.#sockets.add(listener)
    // A listener sends nothing, so only a statement shows that its connection still works.
    const probe = setInterval(() => void listener.query('select 1').catch(() => undefined), PROBE_MS)
    listener.on('end', () => {
      clearInterval(probe)
      this.#reopen()
    })
    this.#listener = listener
    // Notifications may have been missed before, so every subscriber reads once.
    this.#local.wakeAll()
  }

  publish(tenantId: string): void {
    this.#pending.add(tenantId)
    if (this.#isScheduled) return
    this.#isScheduled = true
    const pauseMs = this.#flushedAtMs + PAUSE_MS - performance.now()
    if (pauseMs > 0) setTimeout(() => void this.#flush(), pauseMs)
    else setImmediate(() => void this.#flush())
  }

  subscribe(tenantId: string, wake: () => void): () => void {
    return this.#local.subscribe(tenantId, wake)
  }

  /** Calls `receive` with every text that any process publishes, those of tenants included. */
  onMessage(receive: (text: string) => void): void {
    this.#receivers.push(receive)
  }

  async close(): Promise<void> {
    this.#closed = true
    const ended = Promise.all([this.#listener?.end(), this.#flush().then(() => this.#sender.end())])
    await this.#sockets.closeAfter(ended)
  }

  #receive(texts: string[]): void {
    this.#local.wake(texts)
    for (const receive of this.#receivers) for (const text of texts) receive(text)
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false
    this.#flushedAtMs = performance.now()
    const tenantIds = [...this.#pending]
    this.#pending.clear()
    try {
      // A payload has at most 8,000 bytes: 160 ids of 37, or of 45 with a prefix.
      for (let at = 0; at < tenantIds.length; at += 160) {
        await this.#sender.query('select pg_notify($1, $2)', [CHANNEL, tenantIds.slice(at, at + 160).join(',')])
      }
    } catch (error) {
      if (!this.#closed)
        this.#log.warn({ err: error }, 'a notification was lost; subscribers will find the events by polling')
    }
  }

  #reopen(): void {
    if (this.#closed) return
    setTimeout(() => {
      if (!this.#closed) this.open().catch(() => this.#reopen())
    }, SECOND).unref()
  }
}
