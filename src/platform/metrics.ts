import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { SECOND } from './time.ts'

/*
 * All metrics of a process, in the format of Prometheus. The values of their labels come from lists of the code: names of
 * operations, tasks and statements, kinds, outcomes. No label has the ID of a workspace or contact, an address or a text
 * that somebody sends, so that the number of series does not depend on the customers.
 */

/** Seconds of what a person or a provider waits for. */
const ANSWER_BUCKETS = [0.01, 0.05, 0.25, 1, 5]
const CALL_BUCKETS = [0.1, 0.5, 2, 5, 15]
/** One bound, as the hundreds of statements that have a name are all shown: which of them are often slow. */
const STATEMENT_BUCKETS = [0.1]

/** Operations with their methods and classes of statuses. Further ones are counted as `other`. */
const OPERATIONS_MAX = 60

const registry = new Registry()
/** Gauges that one process reads from the database for all of them. */
const elected = new Registry()
/** A process that has not read them for so long shows none. */
const ELECTED_MAX_MS = 30 * SECOND

function histogram<Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) {
  return new Histogram({ name: `parley_${name}`, help, labelNames, buckets, registers: [registry] })
}

function counter<Label extends string>(name: string, help: string, labelNames: Label[]) {
  return new Counter({ name: `parley_${name}`, help, labelNames, registers: [registry] })
}

function gauge<Label extends string>(name: string, help: string, labelNames: Label[], of = registry) {
  return new Gauge({ name: `parley_${name}`, help, labelNames, registers: [of] })
}

export const metrics = {
  httpRequest: histogram(
    'http_request_duration_seconds',
    'Time from a request to the end of its answer, without live subscriptions',
    ['operation', 'method', 'status_class'],
    ANSWER_BUCKETS,
  ),
  httpRejected: counter('http_rejected_total', 'Requests and connections rejected by a limit or bound', ['reason']),
  webhook: histogram(
    'webhook_duration_seconds',
    'Time in which the webhook calls of providers are checked and stored',
    ['channel_kind', 'outcome'],
    ANSWER_BUCKETS,
  ),
  webhookMessages: counter('webhook_messages_total', 'Messages of customers in webhook calls', [
    'channel_kind',
    'outcome',
  ]),
  answerLatency: histogram(
    'answer_latency_seconds',
    'Time from the last message of a customer to the acceptance of a message of a workflow by the provider, up to a minute',
    ['channel_kind'],
    [0.25, 1, 2.5, 5, 10, 30],
  ),
  runs: counter('runs_total', 'Runs that reached a status', ['status']),
  runStep: histogram(
    'run_step_duration_seconds',
    'Time from the start of a step to its end, with its waits',
    ['step_type'],
    [0.1, 1, 60, 3600],
  ),
  mailboxItems: gauge('mailbox_items', 'Messages, events and timers that are due, up to 10,000', [], elected),
  mailboxOldestDue: gauge(
    'mailbox_oldest_due_seconds',
    'Time since which the oldest message, event or timer is due',
    [],
    elected,
  ),
  outboxMessages: gauge('outbox_messages', 'Messages that are due to be sent, up to 10,000', ['priority'], elected),
  outboxOldest: gauge(
    'outbox_oldest_seconds',
    'Time since which the oldest due message waits to be sent',
    ['priority'],
    elected,
  ),
  sends: counter('sends_total', 'Attempts to send a message, by their result', [
    'channel_kind',
    'outcome',
    'error_code',
  ]),
  send: histogram(
    'send_duration_seconds',
    'Time until the provider answers an attempt to send',
    ['channel_kind', 'outcome'],
    CALL_BUCKETS,
  ),
  deliveryUnknown: counter('delivery_unknown_total', 'Messages of which it is unknown if they were sent', []),
  deadLetters: gauge('dead_letters', 'Dead letters that wait, up to 1,000', ['kind'], elected),
  deadLettersStored: counter('dead_letters_total', 'Messages, events and timers that failed five times', ['kind']),
  timersLag: histogram('timers_lag_seconds', 'Time from the end of a wait to its timer', [], [1, 2.5, 10, 60]),
  schedulesLag: histogram(
    'schedules_lag_seconds',
    'Time from an occurrence of a schedule to its first runs',
    [],
    [1, 2.5, 10, 60],
  ),
  externalCall: histogram(
    'external_call_duration_seconds',
    'Time of the calls of workflows to other systems',
    ['kind', 'outcome'],
    CALL_BUCKETS,
  ),
  broadcastRecipients: gauge(
    'broadcast_recipients',
    'Recipients of the broadcasts that have work to do',
    ['status'],
    elected,
  ),
  liveSubscriptions: gauge('live_subscriptions', 'Open live subscriptions', []),
  liveEventLag: histogram(
    'live_event_lag_seconds',
    'Time from an event to its first reading for live subscriptions',
    [],
    [0.1, 0.5, 2, 10],
  ),
  liveGaps: counter('live_gaps_total', 'Live subscriptions that could not resume without a gap', []),
  poolConnections: gauge('db_pool_connections', 'Connections to the database, and work that waits for one', [
    'pool',
    'state',
  ]),
  poolWait: histogram(
    'db_pool_wait_seconds',
    'Time until work gets a connection to the database',
    ['pool'],
    [0.001, 0.01, 0.1, 0.5, 2],
  ),
  statement: histogram('db_statement_duration_seconds', 'Time of named statements', ['statement'], STATEMENT_BUCKETS),
  databaseErrors: counter('db_errors_total', 'Named statements that failed, by the class of their SQLSTATE', [
    'sqlstate_class',
  ]),
  primaryChanges: counter('db_primary_changes_total', 'Changes of the primary database server', []),
  job: histogram('job_duration_seconds', 'Time of the parts of jobs', ['task', 'outcome'], [0.1, 1, 10, 60]),
  periodicTask: histogram('periodic_task_duration_seconds', 'Time of periodic tasks', ['task'], [0.1, 5]),
  periodicTaskFailed: counter('periodic_task_failed_total', 'Periodic tasks that failed or took too long', ['task']),
  loopLag: histogram(
    'event_loop_lag_seconds',
    'Delay of a timer of the event loop, ten times a second',
    [],
    [0.01, 0.05, 0.1, 0.5, 1, 5],
  ),
  computeTasks: gauge('compute_tasks', 'Checks and simulations on threads', ['state']),
  buildInfo: gauge('build_info', 'The build of the process: always 1', ['version', 'commit', 'roles']),
}

/** Without a server that shows them, nothing is counted. */
let isOn = false

let hasDefaults = false

/** Begins to count, also memory, processor time and garbage collection of the process. The returned function ends it. */
export function startMetrics(): () => void {
  isOn = true
  if (!hasDefaults) collectDefaultMetrics({ register: registry })
  hasDefaults = true
  return () => (isOn = false)
}

/** True if a server shows the metrics. */
export function isObserved(): boolean {
  return isOn
}

/** The text of all metrics, and its media type. */
export async function renderMetrics(): Promise<{ text: string; type: string }> {
  const isElected = performance.now() - electedAtMs < ELECTED_MAX_MS
  const texts = [await registry.metrics(), ...(isElected ? [await elected.metrics()] : [])]
  return { text: texts.join(''), type: registry.contentType }
}

type Labels<Label extends string> = Record<Label, string>

export function count<Label extends string>(metric: Counter<Label>, labels: Labels<Label>, by = 1): void {
  if (isOn) metric.inc(labels, by)
}

/** Changes a gauge of what is open. */
export function change(metric: Gauge, by: number): void {
  if (isOn) metric.inc(by)
}

export function observe<Label extends string>(metric: Histogram<Label>, labels: Labels<Label>, ms: number): void {
  if (isOn) metric.observe(labels, Math.max(0, ms) / 1000)
}

/** Observes the time since `startMs` of `performance.now()`. */
export function observeSince<Label extends string>(
  metric: Histogram<Label>,
  labels: Labels<Label>,
  startMs: number,
): void {
  if (isOn) observe(metric, labels, performance.now() - startMs)
}

const operations = new Set<string>()

/** Observes a request. Of too many combinations of labels, the operation of the later ones is `other`. */
export function observeRequest(
  labels: { operation: string; method: string; status_class: string },
  startMs: number,
): void {
  if (!isOn) return
  const key = Object.values(labels).join(' ')
  if (operations.size < OPERATIONS_MAX) operations.add(key)
  observeSince(metrics.httpRequest, operations.has(key) ? labels : { ...labels, operation: 'other' }, startMs)
}

export type GaugeValue<Label extends string> = { labels: Labels<Label>; value: number }

/** Replaces all values of a gauge. */
export function setGauge<Label extends string>(metric: Gauge<Label>, values: readonly GaugeValue<Label>[]): void {
  metric.reset()
  for (const { labels, value } of values) metric.set(labels, value)
}

let electedAtMs = -Infinity

/** Shows the gauges that one process reads for all, which `set` has just replaced, for some time. */
export function showElected(): void {
  electedAtMs = performance.now()
}

export function hideElected(): void {
  electedAtMs = -Infinity
}
