import { withinTime } from '../concurrency/deadline.ts'
import type { Database } from '../database/database.ts'
import type { SqlFragment } from '../database/statements/statement.ts'
import type { Logger } from '../log.ts'
import { count, metrics, observeSince } from '../metrics.ts'
import type { Notifications } from '../notifications/notifications.ts'
import { MINUTE, SECOND } from '../time.ts'
import { giveBack, takeTurns } from './task-turns.ts'

/** A task that takes longer counts as failed, and its next run starts although it may still be in progress. */
const TASK_MAX_MS = MINUTE
const TICK_MS = SECOND / 4
/** Keys of the statements that take turns: a silent connection or a lock leaves one to the turns that come later. */
const TAKES = ['take turns 1', 'take turns 2']
/** Nothing has happened in any workspace for this time, and nothing was due: what is due next was planned before. */
const IDLE_AFTER_MS = 10 * SECOND
/** The interval meanwhile of looking ahead, and of shorter tasks of which that shows nothing. */
const IDLE_EVERY_MS = 5 * SECOND
/** The interval of looking ahead after a minute, when all that the last processes left is found. */
const QUIET_AFTER_MS = MINUTE
const QUIET_EVERY_MS = 15 * SECOND

/**
 * Work that is repeated. One worker begins it in each interval, and may still be at it when another one begins it again, so
 * each task claims its rows or is idempotent; a process does not begin it a second time meanwhile. One with `isOfProcess` is begun by every worker. `everyMs` is a multiple of 250.
 * `due` selects the `tenant_id` of rows of all tenants for which the task has something to do by a time.
 */
export type PeriodicTask = {
  name: string
  everyMs: number
  run: () => Promise<unknown>
  isOfProcess?: boolean
  due?: (before: Date) => SqlFragment
}

type Options = {
  db: Database
  log: Logger
  notifications: Pick<Notifications, 'subscribe'>
  /** Returns true if a task with `due` has something to do by a time that is so far away. */
  hasDueWork: (aheadMs: number) => Promise<boolean>
}

/**
 * Starts the timer. While nothing happens and nothing is due soon, one statement looks ahead for all tasks with `due`, which
 * are begun again when it finds something or when an event is announced. The returned function stops it and waits at most `graceMs` for the tasks in
 * progress.
 */
export function startPeriodicTasks(
  tasks: readonly PeriodicTask[],
  { db, log, notifications, hasDueWork }: Options,
): (graceMs: number) => Promise<void> {
  const running = new Map<string, Promise<unknown>>()
  /** Tasks whose turns are still to be asked for. */
  const waiting = new Map<string, PeriodicTask>()
  let isStopped = false
  let ticks = 0
  const activity = followActivity({ notifications, hasDueWork })
  const selectTasks = selectByActivity(tasks, activity.lookAhead)

  const begin = (name: string, run: () => Promise<unknown>, key = name) => {
    const startMs = performance.now()
    const done = withinTime(TASK_MAX_MS, run())
      .catch((error: unknown) => {
        count(metrics.periodicTaskFailed, { task: name })
        log.warn({ event: 'periodic_task_failed', err: error, task: name }, 'periodic task failed and will be repeated')
      })
      .finally(() => {
        observeSince(metrics.periodicTask, { task: name }, startMs)
        running.delete(key)
      })
    running.set(key, done)
  }

  const takeAndBegin = async () => {
    const asked = new Map(waiting)
    waiting.clear()
    const taken = await takeTurns(db, [...asked.values()]).catch((error: unknown) => {
      for (const [name, task] of asked) waiting.set(name, task)
      throw error
    })
    for (const { name, run } of asked.values()) {
      if (taken.has(name) && !isStopped && !running.has(name)) begin(name, () => runOrGiveBack(db, name, run))
    }
  }

  const timer = setInterval(() => {
    ticks += 1
    for (const task of selectTasks(activity.quietMs())) {
      if (ticks % (task.everyMs / TICK_MS) !== 0 || running.has(task.name)) continue
      if (task.isOfProcess) begin(task.name, task.run)
      else waiting.set(task.name, task)
    }
    const key = TAKES.find((take) => !running.has(take))
    if (waiting.size > 0 && key !== undefined) begin('take turns', takeAndBegin, key)
  }, TICK_MS)
  return async (graceMs) => {
    isStopped = true
    clearInterval(timer)
    activity.stop()
    await withinTime(graceMs, Promise.all(running.values())).catch(() => undefined)
  }
}

/** Follows for how long nothing has happened and nothing was due soon. */
function followActivity({ notifications, hasDueWork }: Pick<Options, 'notifications' | 'hasDueWork'>) {
  let activeMs = performance.now()
  const touch = () => (activeMs = performance.now())
  const quietMs = () => performance.now() - activeMs
  return {
    quietMs,
    lookAhead: async () => {
      // The next look is up to two intervals away, as it may be that of another worker, and before a longer one begins there
      // is a look over that.
      const everyMs = quietMs() > QUIET_AFTER_MS - 2 * IDLE_EVERY_MS ? QUIET_EVERY_MS : IDLE_EVERY_MS
      const isDue = await hasDueWork(2 * everyMs).catch((error: unknown) => {
        // The tasks may not fail.
        touch()
        throw error
      })
      if (isDue) touch()
    },
    stop: notifications.subscribe('events', touch),
  }
}

/**
 * Returns the tasks by the time without activity. The first look ahead is before the others rest, so that nothing is late
 * that is due between.
 */
function selectByActivity(tasks: readonly PeriodicTask[], run: PeriodicTask['run']) {
  const toLookAhead = (everyMs: number): PeriodicTask => ({ name: 'look ahead', everyMs, run })
  const others = tasks
    .filter(({ due }) => due === undefined)
    .map((task) => ({ ...task, everyMs: Math.max(task.everyMs, IDLE_EVERY_MS) }))
  const ending = [...tasks, toLookAhead(IDLE_EVERY_MS)]
  const idle = [...others, toLookAhead(IDLE_EVERY_MS)]
  const quiet = [...others, toLookAhead(QUIET_EVERY_MS)]
  return (quietMs: number) => {
    if (quietMs > QUIET_AFTER_MS) return quiet
    if (quietMs > IDLE_AFTER_MS) return idle
    return quietMs > IDLE_AFTER_MS - IDLE_EVERY_MS ? ending : tasks
  }
}

/** Gives the turn of a task that fails back: this worker may be cut off from what it needs, and another one not. */
async function runOrGiveBack(db: Database, name: string, run: PeriodicTask['run']): Promise<void> {
  try {
    await run()
  } catch (error) {
    await giveBack(db, name).catch(() => undefined)
    throw error
  }
}
