import { loadavg } from 'node:os'
import { type CpuCost, totalCpu } from './cpu-cost.ts'
import { formatSpread } from './stats.ts'

/** Headings of the columns that `formatCostRow` fills after the first one. */
export const COST_COLUMNS = ['per second', 'Node CPU µs', 'Postgres CPU µs', 'total CPU µs']

/** Formats a table row with the median and range of each column of `COST_COLUMNS`. */
export function formatCostRow(name: string, costs: CpuCost[]): string[] {
  const columns = [
    ({ perSecond }: CpuCost) => perSecond,
    ({ nodeUs }: CpuCost) => nodeUs,
    ({ databaseUs }: CpuCost) => databaseUs,
    totalCpu,
  ]
  return [name, ...columns.map((column) => formatSpread(costs.map(column), 0))]
}

/** Formats the load average, which shows whether other processes used the machine during the measurement. */
export function formatLoadAverage(): string {
  return `load average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`
}

/** Formats rows as a Markdown table; the first row is the heading. */
export function formatTable(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const formatRow = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [heading = [], ...body] = rows
  return [formatRow(heading), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(formatRow)]
}
