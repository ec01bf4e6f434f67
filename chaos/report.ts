import { median } from '../bench/cpu-cost.ts'
import { boundariesOf } from './failpoints.ts'
import type { Incident } from './process-pool.ts'
import type { Check } from './conversation-invariants.ts'
import type { Struck } from './fault-plan.ts'

export type StormReport = {
  options: { conversations: number; kills: number; seed: number; workers: number; workspaces: number }
  /** Those that were asked for, and those that were called to lead to a boundary. */
  conversations: number
  seconds: { ready: number; storm: number; rest: number }
  struck: Struck[]
  starts: number
  refusedStarts: number
  startTimes: number[]
  lettersDelivered: number
  posts: number
  repeats: number
  /** By status; 0 is no answer. */
  refusals: [status: number, count: number][]
  accepted: number
  troubles: number
  orders: { calls: number; orders: number }
  doubts: { arrived: number; lost: number }
  incidents: Incident[]
  checks: Check[]
}

const SHOWN = 12

export function violationsOf({ checks }: StormReport): string[] {
  return checks.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`))
}

export function tell(report: StormReport): string[] {
  const { options, seconds, struck, doubts } = report
  const victims = ['worker', 'http', 'database'] as const
  const late = struck.filter(({ missed }) => missed).length
  const refused = report.refusals.map(([status, count]) => `${count} (${status || 'no answer'})`).join(', ')
  const boundaries = [...boundariesOf('http'), ...boundariesOf('worker')]
  const missed = boundaries.filter((boundary) => !struck.some(({ at }) => at === boundary))
  return [
    `${report.conversations} conversations in ${options.workspaces} workspaces, ${options.workers} workers, seed ${options.seed}`,
    `${struck.length} kills in ${seconds.storm.toFixed(0)} s, ${late} of them after a boundary was not reached in time; ready ${seconds.ready.toFixed(0)} s before, at rest ${seconds.rest.toFixed(0)} s later`,
    `${boundaries.length - missed.length} of ${boundaries.length} boundaries were met${missed.length > 0 ? `, not these: ${missed.join(', ')}` : ''}`,
    ...victims.map(
      (victim) => `  ${victim}: ${countBy(struck.filter((one) => one.victim === victim).map(({ at }) => at))}`,
    ),
    `${report.starts} starts, ${report.refusedStarts} of them ended before they were ready; median ${median(report.startTimes).toFixed(0)} ms`,
    `${report.lettersDelivered} webhooks delivered by ${report.posts} posts: ${report.repeats} repeated on purpose, without a 200 ${refused || 'none'}`,
    `${report.accepted} messages taken by the provider, which lost or refused ${report.troubles} answers on purpose`,
    `${doubts.arrived + doubts.lost} messages in doubt (delivery_unknown): ${doubts.arrived} had arrived, ${doubts.lost} had not; none was sent again`,
    `${report.orders.orders} orders taken by the shop, in ${report.orders.calls} calls`,
    '',
    ...report.checks.flatMap(({ name, checked, violations }) => [
      `${violations.length === 0 ? 'holds ' : 'BROKEN'} ${name}: ${checked} checked, ${violations.length} violations`,
      ...violations.slice(0, SHOWN).map((violation) => `         ${violation}`),
    ]),
  ]
}

function countBy(names: string[]): string {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const told = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${count} ${name}`)
  return `${names.length} (${told.join(', ')})`
}
