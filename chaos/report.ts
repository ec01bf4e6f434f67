import { formatSpread, median, percentile } from '../bench/stats.ts'
import type { BroadcastCounts } from './broadcast-invariants.ts'
import type { EventCounts } from './event-invariants.ts'
import { listFailpoints } from './failpoints.ts'
import type { FaultFreePhase } from './fault-free-phase.ts'
import { FAULT_KINDS, type FaultKind } from './faults/fault.ts'
import type { InjectedFault } from './faults/inject.ts'
import type { PlanOptions } from './faults/plan.ts'
import type { HangingCounts } from './hanging-invariants.ts'
import type { InvariantResult } from './invariant.ts'

export type ChaosReport = {
  options: PlanOptions & { conversations: number; broadcast: number; seed: number; workers: number; workspaces: number }
  /** Number of all conversations, including those that were added to reach a failpoint. */
  conversations: number
  /** Durations of the phases. */
  seconds: { startup: number; faultFree: number; faults: number; drain: number }
  faults: InjectedFault[]
  starts: number
  failedStarts: number
  /** Times until a process was ready, in ms. */
  startTimes: number[]
  webhooks: {
    delivered: number
    requests: number
    duplicates: number
    /** Number of requests by response status other than 200; 0 stands for no response. */
    failedRequests: [status: number, count: number][]
  }
  provider: { accepted: number; simulatedErrors: number }
  shop: { requests: number; orders: number }
  /** Events that were sent to webhook endpoints, and what their receiver did. */
  events: EventCounts & { faults: [kind: string, count: number][] }
  unknownDeliveries: { arrived: number; lost: number }
  faultFree: FaultFreePhase
  /** Messages to the provider that hangs. */
  hanging: HangingCounts & { requests: number }
  broadcast: BroadcastCounts & { faultsBeforeEnd: number }
  invariants: InvariantResult[]
}

const MAX_PRINTED_VIOLATIONS = 12

export function listViolations({ invariants }: ChaosReport): string[] {
  return invariants.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`))
}

export function formatReport(report: ChaosReport): string[] {
  const { options, seconds, webhooks, provider, shop, unknownDeliveries, hanging } = report
  const failedRequests = webhooks.failedRequests.map(([status, count]) => `${count} (${status || 'no response'})`)
  return [
    `${report.conversations} conversations in ${options.workspaces} workspaces, ${options.workers} workers, seed ${options.seed}`,
    `startup ${seconds.startup.toFixed(0)} s, without faults ${seconds.faultFree.toFixed(0)} s, fault injection ${seconds.faults.toFixed(0)} s, drain ${seconds.drain.toFixed(0)} s`,
    ...formatFaults(report.faults, { hasBroadcasts: options.broadcast > 0 }),
    `${report.starts} process starts, ${report.failedStarts} failed; median start time ${median(report.startTimes).toFixed(0)} ms`,
    `${webhooks.delivered} webhooks delivered with ${webhooks.requests} requests: ${webhooks.duplicates} intentional duplicates; failed requests by status: ${failedRequests.join(', ') || 'none'}`,
    `${provider.accepted} messages accepted by the provider; ${provider.simulatedErrors} provider errors simulated`,
    `${unknownDeliveries.arrived + unknownDeliveries.lost} messages with unknown delivery (delivery_unknown): ${unknownDeliveries.arrived} arrived, ${unknownDeliveries.lost} did not; none was sent again`,
    `${hanging.requests} messages accepted by a provider that hung for some of the time: ${hanging.sent} sent, ${hanging.unknown} with unknown delivery`,
    formatFaultFree(report.faultFree),
    ...formatBroadcast(report),
    `${shop.orders} orders created with ${shop.requests} external calls`,
    formatEvents(report),
    '',
    ...report.invariants.flatMap(({ name, checked, violations }) => [
      `${violations.length === 0 ? 'ok       ' : 'VIOLATED '} ${name}: ${checked} checked, ${violations.length} violations`,
      ...violations.slice(0, MAX_PRINTED_VIOLATIONS).map((violation) => `            ${violation}`),
    ]),
  ]
}

function formatEvents({ events }: ChaosReport): string {
  const { calls, received, refused, byStatus, retried, faults } = events
  const statuses = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`)
  const kinds = faults.map(([kind, count]) => `${count} ${kind}`)
  return `${received} events received by webhook endpoints with ${calls} calls, ${refused} not accepted; deliveries: ${statuses.join(', ')}, ${retried} after several attempts; modes of the receiver: ${kinds.join(', ')}`
}

function formatFaultFree({ calm, hanging, openRequests }: FaultFreePhase): string {
  const format = (times: number[]) =>
    `${median(times).toFixed(0)} ms (median), ${percentile(times, 90).toFixed(0)} ms (90 %)`
  return `replies of other workspaces without faults: ${format(calm)}; with ${openRequests} requests open at that provider: ${format(hanging)}`
}

function formatBroadcast({ options, broadcast, faults }: ChaosReport): string[] {
  if (options.broadcast === 0) return []
  const { recipients, accepted, byStatus, doubts, settledDoubts, faultsBeforeEnd } = broadcast
  const statuses = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`)
  return [
    `${recipients} recipients of broadcasts: ${statuses.join(', ')}; ${accepted} messages of broadcasts accepted by the provider; ${faultsBeforeEnd} of ${faults.length} faults while they were sent`,
    `${doubts} recipients with unknown delivery, ${settledDoubts} of them settled by a status; none was sent again`,
  ]
}

function formatFaults(faults: InjectedFault[], scope: { hasBroadcasts: boolean }): string[] {
  const reached = faults.flatMap(({ fault, isFailpointReached }) =>
    isFailpointReached && 'failpoint' in fault ? (fault.failpoint ?? []) : [],
  )
  const missed = faults.filter(
    ({ fault, isFailpointReached }) => 'failpoint' in fault && fault.failpoint && !isFailpointReached,
  ).length
  const failpoints = [...listFailpoints('http', scope), ...listFailpoints('worker', scope)]
  const unreached = failpoints.filter((name) => !reached.includes(name))
  const kinds = Object.keys(FAULT_KINDS) as FaultKind[]
  return [
    `${faults.length} faults, ${missed} of them at a random moment because the failpoint was not reached in time`,
    `${failpoints.length - unreached.length} of ${failpoints.length} failpoints reached${unreached.length > 0 ? `; not reached: ${unreached.join(', ')}` : ''}`,
    ...kinds.flatMap((kind) =>
      formatKind(
        kind,
        faults.filter(({ fault }) => fault.kind === kind),
      ),
    ),
  ]
}

/** Formats the number of faults of a kind, their variants, and the time until the system worked again. */
function formatKind(kind: FaultKind, faults: InjectedFault[]): string[] {
  if (faults.length === 0) return []
  const times = faults.flatMap(({ recoveryMs }) => (recoveryMs === undefined ? [] : recoveryMs / 1000))
  const recovery = times.length > 0 ? `; recovered after ${formatSpread(times, 1)} s` : ''
  const skipReason = faults.find((fault) => fault.skipReason !== undefined)?.skipReason
  const skipped = skipReason === undefined ? '' : `; skipped: ${skipReason}`
  return [`  ${kind}: ${formatCounts(faults.map(nameVariant))}${recovery}${skipped}`]
}

function nameVariant({ fault, server }: InjectedFault): string {
  switch (fault.kind) {
    case 'kill':
      return server ?? fault.target
    case 'cut':
    case 'partition':
      return fault.scope
    case 'freeze':
      return fault.failpoint ?? 'random moment'
    case 'lock':
      return fault.table
    case 'empty':
      return 'queue'
    case 'skew':
      return fault.role
    case 'disk':
      return 'full'
    case 'node':
      return server ?? 'none'
  }
}

/** Formats `total (count name, count name…)`. */
function formatCounts(names: string[]): string {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const entries = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${count} ${name}`)
  return entries.length > 0 ? `${names.length} (${entries.join(', ')})` : '0'
}
