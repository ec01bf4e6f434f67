import { loggableNetwork } from '../../platform/client-address.ts'
import { type Share, SharedSlots } from '../../platform/concurrency/shared-slots.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/log.ts'
import { count, metrics } from '../../platform/metrics.ts'
import { SECOND } from '../../platform/time.ts'

type SlotBound = 'connections' | 'subscriptions' | 'uploads'

/** Bounds that protect the event loop and the memory of a process. */
type Bound = SlotBound | 'bodyBytes' | 'unsentBytes' | 'loopLag'

/** The bounds as values of a label. */
const REASONS: Record<Bound, string> = {
  connections: 'connections',
  subscriptions: 'subscriptions',
  uploads: 'uploads',
  bodyBytes: 'body',
  unsentBytes: 'unsent',
  loopLag: 'overload',
}

/** Uploads of one workspace, and of one user or API key, at once. */
const UPLOADS_PER_WORKSPACE_MAX = 4
const RETRY_AFTER_SECONDS = 5

const LOG_EVERY_MS = 10 * SECOND

/** Slots of this process that clients occupy, and the count of what was rejected beyond any of its bounds. */
export class Admission {
  readonly #log: Logger
  readonly #slots: Record<SlotBound, SharedSlots> = {
    // Node counts those of all clients.
    connections: new SharedSlots({ width: Infinity }),
    // Each costs memory, and time for every event. A client network gets 500 while there are no others.
    subscriptions: new SharedSlots({ width: 2_500, part: 0.25 }),
    // Each uses little memory, but space on the disk. A client network gets 13 while there are no others.
    uploads: new SharedSlots({ width: 64, part: 0.25 }),
  }
  readonly #rejected = new Map<Bound, { count: number; loggedMs: number }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /**
   * Takes a slot for all of the shares of a client. Returns the function that frees it, which may be called more than
   * once, or the share that has no further slot.
   */
  take(bound: SlotBound, network: string, shares: readonly Share[]): (() => void) | Share {
    const exhausted = this.#slots[bound].findExhausted(shares)
    if (!exhausted) return this.#slots[bound].take(shares)
    this.reject(bound, network)
    return exhausted
  }

  /**
   * Takes the slot of a file that is received, and returns the function that frees it.
   * @throws UnavailableError
   */
  takeUpload(network: string, { workspaceId, callerId }: { workspaceId: string; callerId: string }): () => void {
    const slot = this.take('uploads', network, [
      { key: `workspace:${workspaceId}`, max: UPLOADS_PER_WORKSPACE_MAX },
      { key: `user:${callerId}`, max: UPLOADS_PER_WORKSPACE_MAX },
      { key: `network:${network}` },
    ])
    if (typeof slot === 'function') return slot
    throw new UnavailableError('Too many files are being uploaded, please try again', RETRY_AFTER_SECONDS)
  }

  /** Counts what is rejected because of a bound. The log has a line of each bound in ten seconds at most. */
  reject(bound: Bound, network?: string): void {
    count(metrics.httpRejected, { reason: REASONS[bound] })
    const { count: earlier, loggedMs } = this.#rejected.get(bound) ?? { count: 0, loggedMs: -Infinity }
    const nowMs = performance.now()
    const isDue = nowMs - loggedMs >= LOG_EVERY_MS
    this.#rejected.set(bound, { count: earlier + 1, loggedMs: isDue ? nowMs : loggedMs })
    if (!isDue) return
    const client = network === undefined ? {} : { network: loggableNetwork(network) }
    this.#log.warn(
      { event: 'load_rejected', bound, rejected: earlier + 1, ...client },
      'rejected to protect this process',
    )
  }
}
