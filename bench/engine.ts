import { type CpuCost, totalCpu } from './cpu-cost.ts'
import { readDatabaseTime, withTempDatabase } from './database.ts'
import { type EngineBench, type Size, withEngineBench } from './engine-bench.ts'
import { COST_COLUMNS, formatCostRow, formatLoadAverage, formatTable } from './format.ts'
import { describeRowSizes } from './row-sizes.ts'
import { formatSpread, rotate } from './stats.ts'

type Variant = {
  name: string
  costs: CpuCost[]
  rowSizes?: string
  advance: (bench: EngineBench) => Promise<CpuCost>
}

/** Measures the cost of each stage of an answered message, and compares the advance stage with a baseline script. */
export function benchEngine(options: Partial<Size> = {}): Promise<string[]> {
  const { rounds, ...size } = { workspaces: 20, backlog: 200, rounds: 5, ...options }
  const initialLoad = formatLoadAverage()
  const variants: Variant[] = [
    { name: 'advance: engine, one worker', costs: [], advance: (bench) => bench.advance(1) },
    { name: 'advance: engine, two workers', costs: [], advance: (bench) => bench.advance(2) },
    { name: 'advance: baseline script', costs: [], advance: (bench) => bench.advanceBaseline() },
  ]
  return withTempDatabase((database) =>
    withEngineBench(database, { ...size, rounds: (rounds + 1) * variants.length }, async (bench) => {
      const stages = await runRounds(bench, variants, rounds)
      return [
        `Runs of trigger → branch → tag → set → send, ${bench.count} messages of ${bench.workspaces.length} workspaces per round; median (range) of ${rounds} interleaved rounds`,
        ...formatReport(variants, stages),
        `${initialLoad} before, ${formatLoadAverage()} after`,
      ]
    }),
  )
}

type StageCosts = { ingest: CpuCost[]; send: CpuCost[] }

/** Runs every variant in each round, in rotating order, after a warm-up round that is not recorded. */
async function runRounds(bench: EngineBench, variants: Variant[], rounds: number): Promise<StageCosts> {
  const stages: StageCosts = { ingest: [], send: [] }
  for (let round = 0; round <= rounds; round += 1) {
    for (const variant of rotate(variants, round)) {
      const ingestCost = await bench.ingest()
      const since = await readDatabaseTime(bench.database)
      const advanceCost = await variant.advance(bench)
      variant.rowSizes ??= await describeRowSizes(bench.database, since)
      const sendCost = await bench.send()
      if (round === 0) continue
      stages.ingest.push(ingestCost)
      variant.costs.push(advanceCost)
      stages.send.push(sendCost)
    }
  }
  return stages
}

function formatReport(variants: Variant[], { ingest, send }: StageCosts): string[] {
  const [oneWorker, twoWorkers, baseline] = variants as [Variant, Variant, Variant]
  const formatRatio = (costs: CpuCost[], toRatio: (cost: CpuCost, baselineCost: CpuCost) => number) =>
    formatSpread(costs.map((cost, round) => toRatio(cost, baseline.costs[round] as CpuCost)))
  const toCpuRatio = (cost: CpuCost, baselineCost: CpuCost) => totalCpu(baselineCost) / totalCpu(cost)
  const toSpeedRatio = (cost: CpuCost, baselineCost: CpuCost) => cost.perSecond / baselineCost.perSecond
  return [
    ...formatTable([
      ['stage', ...COST_COLUMNS],
      formatCostRow('ingest, batches of 50', ingest),
      ...variants.map(({ name, costs }) => formatCostRow(name, costs)),
      formatCostRow('send, sandbox', send),
    ]),
    `baseline ÷ engine, CPU: ${formatRatio(oneWorker.costs, toCpuRatio)} with one worker, ${formatRatio(twoWorkers.costs, toCpuRatio)} with two`,
    `engine ÷ baseline, runs per second: ${formatRatio(oneWorker.costs, toSpeedRatio)} with one worker, ${formatRatio(twoWorkers.costs, toSpeedRatio)} with two`,
    ...variants.map(({ name, rowSizes }) => `rows written by ${name}: ${rowSizes}`),
  ]
}
