import { median } from '../bench/stats.ts'
import { listFailpoints } from './failpoints.ts'
import type { InjectedFault } from './inject-fault.ts'
import type { InvariantResult } from './invariant.ts'

export type ChaosReport = {
  options: { conversations: number; kills: number; seed: number; workers: number; workspaces: number }
  /** Number of all conversations, including those that were added to reach a failpoint. */
  conversations: number
  /** Durations of the three phases. */
  seconds: { startup: number; faults: number; drain: number }
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
  unknownDeliveries: { arrived: number; lost: number }
  invariants: InvariantResult[]
}

const MAX_PRINTED_VIOLATIONS = 12

export function listViolations({ invariants }: ChaosReport): string[] {
  return invariants.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`))
}

export function formatReport(report: ChaosReport): string[] {
  const { options, seconds, webhooks, provider, shop, unknownDeliveries } = report
  const failedRequests = webhooks.failedRequests.map(([status, count]) => `${count} (${status || 'no response'})`)
  return [
    `${report.conversations} conversations in ${options.workspaces} workspaces, ${options.workers} workers, seed ${options.seed}`,
    `startup ${seconds.startup.toFixed(0)} s, fault injection ${seconds.faults.toFixed(0)} s, drain ${seconds.drain.toFixed(0)} s`,
    ...formatFaults(report.faults),
    `${report.starts} process starts, ${report.failedStarts} failed; median start time ${median(report.startTimes).toFixed(0)} ms`,
    `${webhooks.delivered} webhooks delivered with ${webhooks.requests} requests: ${webhooks.duplicates} intentional duplicates; failed requests by status: ${failedRequests.join(', ') || 'none'}`,
    `${provider.accepted} messages accepted by the provider; ${provider.simulatedErrors} provider errors simulated`,
    `${unknownDeliveries.arrived + unknownDeliveries.lost} messages with unknown delivery (delivery_unknown): ${unknownDeliveries.arrived} arrived, ${unknownDeliveries.lost} did not; none was sent again`,
    `${shop.orders} orders created with ${shop.requests} external calls`,
    '',
    ...report.invariants.flatMap(({ name, checked, violations }) => [
      `${violations.length === 0 ? 'ok       ' : 'VIOLATED '} ${name}: ${checked} checked, ${violations.length} violations`,
      ...violations.slice(0, MAX_PRINTED_VIOLATIONS).map((violation) => `            ${violation}`),
    ]),
  ]
}

function formatFaults(faults: InjectedFault[]): string[] {
  const missed = faults.filter(({ missedFailpoint }) => missedFailpoint).length
  const failpoints = [...listFailpoints('http'), ...listFailpoints('worker')]
  const unreached = failpoints.filter((name) => !faults.some(({ failpoint }) => failpoint === name))
  return [
    `${faults.length} kills, ${missed} of them at a random moment because the failpoint was not reached in time`,
    `${failpoints.length - unreached.length} of ${failpoints.length} failpoints reached${unreached.length > 0 ? `; not reached: ${unreached.join(', ')}` : ''}`,
    ...(['worker', 'http', 'database'] as const).map((target) => {
      const names = faults
        .filter((fault) => fault.target === target)
        .map(({ failpoint }) => failpoint ?? 'random moment')
      return `  ${target}: ${formatCounts(names)}`
    }),
  ]
}

/** Formats `total (count name, count name…)`. */
function formatCounts(names: string[]): string {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const entries = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${count} ${name}`)
  return entries.length > 0 ? `${names.length} (${entries.join(', ')})` : '0'
}
