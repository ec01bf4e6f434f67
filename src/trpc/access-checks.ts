import type { AppError } from '../platform/errors.ts'
import type { Revocations } from '../platform/notifications/revocations.ts'
import { SECOND } from '../platform/time.ts'
import type { Caller } from './context.ts'

/** Access that was checked is trusted this long, unless a revocation arrives. */
const TRUSTED_MS = 3 * SECOND
/** Interval of the check of a session while nothing is sent to it. */
const CHECK_EVERY_MS = 5 * SECOND

type Options = {
  now: () => Date
  revocations: Revocations
  checkAccess: (caller: Caller) => Promise<AppError | undefined>
}

/** The access of the sessions that follow something, checked once for all streams of a session in a workspace. */
export class AccessChecks {
  readonly #options: Options
  readonly #checks = new Map<string, AccessCheck>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Calls `onRevoked` soon after access ends, also while nothing is sent, until the returned check is closed. */
  open(caller: Caller, onRevoked: () => void): { check: () => Promise<AppError | undefined>; close: () => void } {
    const workspace = typeof caller.workspace === 'string' ? caller.workspace : caller.workspace.id
    const key = `${caller.session.id} ${workspace}`
    const shared = this.#checks.get(key) ?? new AccessCheck(this.#options, caller)
    this.#checks.set(key, shared)
    const unwatch = shared.watch(onRevoked)
    return {
      check: () => shared.check(),
      close: () => {
        if (unwatch() === 0 && this.#checks.get(key) === shared) this.#checks.delete(key)
      },
    }
  }
}

/** The access of one session to one workspace, checked again after TRUSTED_MS and after each revocation. */
class AccessCheck {
  readonly #options: Options
  readonly #caller: Caller
  readonly #watchers = new Set<() => void>()
  #stop: (() => void) | undefined
  #trustedUntil = 0
  #latest: Promise<AppError | undefined> = Promise.resolve(undefined)

  constructor(options: Options, caller: Caller) {
    this.#options = options
    this.#caller = caller
  }

  /** Returns the error if access has ended. */
  check(): Promise<AppError | undefined> {
    const nowMs = this.#options.now().getTime()
    if (nowMs >= this.#trustedUntil) {
      this.#trustedUntil = nowMs + TRUSTED_MS
      this.#latest = this.#options.checkAccess(this.#caller)
    }
    return this.#latest
  }

  /** The returned function ends the watch and returns the number of the others. */
  watch(onRevoked: () => void): () => number {
    // A function of its own, so that each watch is counted.
    const watcher = () => onRevoked()
    this.#watchers.add(watcher)
    this.#stop ??= this.#start()
    return () => {
      this.#watchers.delete(watcher)
      if (this.#watchers.size === 0) {
        this.#stop?.()
        this.#stop = undefined
      }
      return this.#watchers.size
    }
  }

  #start(): () => void {
    // While the database does not answer no item can be sent either; a later check decides.
    const check = () =>
      void this.check().then(
        (error) => error && this.#watchers.forEach((watcher) => watcher()),
        () => undefined,
      )
    const timer = setInterval(check, CHECK_EVERY_MS)
    const unsubscribe = this.#options.revocations.subscribe((userId) => {
      if (userId !== this.#caller.user.id) return
      this.#trustedUntil = 0
      check()
    })
    return () => {
      clearInterval(timer)
      unsubscribe()
    }
  }
}
