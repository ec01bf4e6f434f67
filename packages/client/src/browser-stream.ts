import type { ParleyClient, ParleyError, ParleyEvent } from './client.ts'
import { isParleyError } from './client.ts'

/** An item of the stream. After `ready` and `gap` the current state is to be read again, as events may be missing before. */
export type StreamItem = { type: 'event'; event: ParleyEvent } | { type: 'ready' | 'gap' }

/** `live` while events arrive, `connecting` while the connection is made or made again. */
export type StreamState = 'live' | 'connecting'

type Listener = {
  onItem: (item: StreamItem) => void
  onState: (state: StreamState) => void
  /** Called when the stream has ended and is opened again later, except after 401 and 403. */
  onError: (error: ParleyError) => void
}

/** The part of `navigator.locks` that is used. It exists in secure contexts only. */
type Locks = {
  request(name: string, options: { signal: AbortSignal }, lead: () => Promise<void>): Promise<unknown>
}

/** Said between the tabs: an item, the state of the connection, or the question of a new tab for that state. */
type Entry = { id: string; item: StreamItem } | { state: StreamState } | 'state?'

const RETRY_MS = 1_000
const RETRY_MAX_MS = 30_000

/**
 * Follows the events of a workspace with one connection for all tabs of a browser, as it has six of them for a server. The
 * tab with the lock is connected and passes the events on; when it is closed, another one goes on after the last event.
 * Where there are no locks, each tab is connected. Returns a function that ends it.
 */
export function followInBrowser(
  client: ParleyClient,
  workspace: string,
  { onItem, onState, onError }: Listener,
): () => void {
  const name = `parley events ${workspace}`
  const locks: Locks | undefined = (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks
  const channel = locks ? new BroadcastChannel(name) : undefined
  const ended = new AbortController()
  let last: string | undefined
  /** Set in the tab that is connected. */
  let ownState: StreamState | undefined

  const receive = (entry: Entry) => {
    if (entry === 'state?') return ownState && channel?.postMessage({ state: ownState })
    if ('item' in entry) last = entry.id
    if (ended.signal.aborted) return
    if ('item' in entry) onItem(entry.item)
    else onState(entry.state)
  }
  const publish = (entry: Exclude<Entry, 'state?'>) => {
    if (ended.signal.aborted) return
    if ('state' in entry) ownState = entry.state
    channel?.postMessage(entry)
    receive(entry)
  }
  const lead = () =>
    keepConnected(ended.signal, () => {
      publish({ state: 'connecting' })
      return connect(client, {
        last,
        signal: ended.signal,
        onError,
        onState: (state) => publish({ state }),
        onItem: (id, item) => publish({ id, item }),
      })
    })

  if (channel) {
    channel.onmessage = ({ data }) => receive(data as Entry)
    channel.postMessage('state?' satisfies Entry)
  }
  // A wait for the lock is rejected when it is ended.
  if (locks) locks.request(name, { signal: ended.signal }, lead).catch(() => undefined)
  else void lead()
  return () => {
    ended.abort()
    channel?.close()
  }
}

type Connection = {
  last: string | undefined
  signal: AbortSignal
  onItem: (id: string, item: StreamItem) => void
  onState: (state: StreamState) => void
  onError: (error: ParleyError) => void
}

/** Connects again, later after each failure, until the signal aborts or the server refuses the caller. */
async function keepConnected(signal: AbortSignal, run: () => Promise<'received' | 'failed' | 'refused'>) {
  let delayMs = RETRY_MS
  while (!signal.aborted) {
    const result = await run()
    if (result === 'refused') return
    delayMs = result === 'received' ? RETRY_MS : Math.min(delayMs * 2, RETRY_MAX_MS)
    await wait(delayMs * (0.5 + Math.random() / 2), signal)
  }
}

/** Follows events until the stream ends. Short interruptions are bridged by the subscription itself. */
function connect(client: ParleyClient, { last, signal, onItem, onState, onError }: Connection) {
  return new Promise<'received' | 'failed' | 'refused'>((resolve) => {
    let hasReceived = false
    const end = (error?: unknown) => {
      if (isParleyError(error) && !signal.aborted) onError(error)
      const status = isParleyError(error) ? error.data?.httpStatus : undefined
      resolve(status === 401 || status === 403 ? 'refused' : hasReceived ? 'received' : 'failed')
    }
    const subscription = client.events.follow.subscribe(
      { lastEventId: last },
      {
        onData: ({ id, data }) => {
          hasReceived = true
          onItem(id, data)
        },
        onConnectionStateChange: ({ state }) => onState(state === 'pending' ? 'live' : 'connecting'),
        onError: end,
        onComplete: () => end(),
      },
    )
    const stop = () => {
      subscription.unsubscribe()
      end()
    }
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
