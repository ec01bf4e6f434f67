import type { Query, QueryClient } from '@tanstack/react-query'
import type { StreamItem } from './browser-stream.ts'
import type { ParleyEvent, RouterOutputs } from './client.ts'

/** Namespaces of the queries that events of a kind concern, unless they are those of its name in the plural. */
const NAMESPACES: Readonly<Record<string, readonly string[]>> = {
  dead_letter: ['deadLetters'],
  group: ['groups', 'contacts'],
  media: ['media'],
  message: ['messages', 'conversations'],
  webhook_endpoint: ['webhookEndpoints'],
  workspace: ['workspace'],
}

/** Fields of messages that an event changes, in the order of the states. */
const DELIVERY = [
  ['message.sent', 'sent', 'sentAt'],
  ['message.delivered', 'delivered', 'deliveredAt'],
  ['message.read', 'read', 'readAt'],
] as const

/** Events within this time are applied together. */
const COLLECT_MS = 100
/** The least time between two reads of the same queries. */
const PAUSE_MS = 1_000

type Message = RouterOutputs['messages']['get']

/** Keeps the queries of a cache current: changes what an event says completely, and has others read again. */
export class QueryUpdates {
  readonly #queryClient: QueryClient
  #pending: (ParleyEvent | 'all')[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #flushedAt = 0

  constructor(queryClient: QueryClient) {
    this.#queryClient = queryClient
  }

  add(item: StreamItem): void {
    if (item.type === 'event' && this.#patch(item.event)) return
    this.#pending.push(item.type === 'event' ? item.event : 'all')
    const pausedMs = this.#flushedAt + PAUSE_MS - Date.now()
    this.#timer ??= setTimeout(() => this.#flush(), Math.max(COLLECT_MS, pausedMs))
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #flush(): void {
    const changes = this.#pending
    this.#pending = []
    this.#timer = undefined
    this.#flushedAt = Date.now()
    void this.#queryClient.invalidateQueries({
      predicate: (query) => changes.some((change) => concerns(change, query)),
    })
  }

  /** Applies a state of delivery to the messages in the cache; returns true if nothing has to be read. */
  #patch(event: ParleyEvent): boolean {
    const rank = DELIVERY.findIndex(([type]) => type === event.type)
    const [, status, field] = DELIVERY[rank] ?? []
    if (!status || !field || !('messageId' in event.data)) return false
    const { messageId } = event.data
    const isBehind = (message: Message) => DELIVERY.slice(rank).every(([, state]) => state !== message.status)
    const change = (value: unknown): unknown => {
      if (Array.isArray(value)) {
        const items = value.map(change)
        return items.some((item, index) => item !== value[index]) ? items : value
      }
      if (typeof value !== 'object' || value === null) return value
      if (isMessage(value)) {
        const isOld = value.id === messageId && isBehind(value) && value.status !== 'played'
        return isOld ? { ...value, status, [field]: event.at } : value
      }
      const list = 'pages' in value ? 'pages' : 'messages'
      const items: unknown = Reflect.get(value, list)
      const changed = change(items)
      return changed === items ? value : { ...value, [list]: changed }
    }
    const predicate = ({ queryKey: [path] }: Query) =>
      Array.isArray(path) && ['messages.get', 'conversations.listMessages'].includes(path.join('.'))
    this.#queryClient.setQueriesData({ predicate }, change)
    return true
  }
}

function isMessage(value: object): value is Message {
  return 'id' in value && 'conversationId' in value && 'status' in value
}

/** Returns true if an event may change the result of a query: one of its kind, whose input names no other object. */
function concerns(change: ParleyEvent | 'all', { queryKey: [path, options] }: Query): boolean {
  if (!Array.isArray(path)) return false
  if (change === 'all') return true
  const kind = change.type.split('.', 1)[0] ?? ''
  const namespaces = NAMESPACES[kind] ?? [`${kind}s`]
  if (!namespaces.includes(path[0])) return false
  const input = (options as { input?: Record<string, unknown> } | undefined)?.input ?? {}
  return Object.entries(change.data).every(([name, id]) => typeof input[name] !== 'string' || input[name] === id)
}
