import { Batcher } from '../platform/concurrency/batcher.ts'
import type { AppError } from '../platform/errors.ts'
import type { Notifications } from '../platform/notifications/notifications.ts'
import { SECOND } from '../platform/time.ts'
import { type Caller, callerId, type KeyCaller, type UserCaller } from './caller.ts'

/** Access that was checked is trusted this long, unless a revocation arrives. */
const TRUSTED_MS = 3 * SECOND
/** Interval of the checks of all callers to which nothing is sent. */
const CHECK_EVERY_MS = 5 * SECOND
/** Members that are checked together. */
const BATCH_MAX = 500

type Options = {
  now: () => Date
  notifications: Pick<Notifications, 'subscribe'>
  /** Returns for each member the error if access has ended. */
  checkUsers: (callers: UserCaller[]) => Promise<(AppError | undefined)[]>
  checkKey: (caller: KeyCaller) => Promise<AppError | undefined>
}

type CheckOptions = Pick<Options, 'now' | 'notifications'> & {
  checkAccess: (caller: Caller) => Promise<AppError | undefined>
}

/**
 * The access of the sessions and API keys that follow something, checked once for all streams of one of them in a
 * workspace with one role, and together with that of others.
 */
export class AccessChecks {
  readonly #options: CheckOptions
  readonly #checks = new Map<string, AccessCheck>()
  #timer: NodeJS.Timeout | undefined

  constructor({ checkUsers, checkKey, ...options }: Options) {
    const batcher = new Batcher<UserCaller, AppError | undefined>({
      work: (_key, callers) => checkUsers(callers),
      batchMax: BATCH_MAX,
      waitingMax: Infinity,
    })
    this.#options = {
      ...options,
      checkAccess: (caller) => ('key' in caller ? checkKey(caller) : batcher.do('users', caller)),
    }
  }

  /** Calls `onRevoked` soon after access ends, also while nothing is sent, until the returned check is closed. */
  open(caller: Caller, onRevoked: () => void): { check: () => Promise<AppError | undefined>; close: () => void } {
    const key = toKey(caller)
    const shared = this.#checks.get(key) ?? new AccessCheck(this.#options, caller)
    this.#checks.set(key, shared)
    this.#timer ??= setInterval(() => this.#checks.forEach((check) => check.report()), CHECK_EVERY_MS)
    const unwatch = shared.watch(onRevoked)
    return {
      check: () => shared.check(),
      close: () => {
        if (unwatch() === 0 && this.#checks.get(key) === shared) this.#checks.delete(key)
        if (this.#checks.size > 0) return
        clearInterval(this.#timer)
        this.#timer = undefined
      },
    }
  }
}

/** The access of one session or API key to one workspace, checked again after TRUSTED_MS and after each revocation. */
class AccessCheck {
  readonly #options: CheckOptions
  readonly #caller: Caller
  readonly #watchers = new Set<() => void>()
  #stop: (() => void) | undefined
  #trustedUntil = 0
  #latest: Promise<AppError | undefined> = Promise.resolve(undefined)

  constructor(options: CheckOptions, caller: Caller) {
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

  /** Checks, and tells the watchers if access has ended. */
  report(): void {
    // While the database does not answer no item can be sent either; a later check decides.
    this.check().then(
      (error) => error && this.#watchers.forEach((watcher) => watcher()),
      () => undefined,
    )
  }

  #start(): () => void {
    const onRevocation = () => {
      this.#trustedUntil = 0
      this.report()
    }
    return this.#options.notifications.subscribe('revocations', onRevocation, { text: callerId(this.#caller) })
  }
}

/** The role is a part of the key, as streams of a session may have been opened before and after it was changed. */
function toKey(caller: Caller): string {
  if ('key' in caller) return caller.key.hash.toString('base64url')
  const { workspace } = caller
  const access = typeof workspace === 'string' ? [workspace] : [workspace.id, workspace.role]
  return [caller.session.id, ...access].join(' ')
}
