import { databaseTime, withThrowAwayDatabase } from './database.ts'
import { type EngineBench, type Size, withEngineBench } from './engine-bench.ts'
import { costOf, type Effort, effortRow, loadOfMachine, spread, table } from './measure.ts'
import { describeWritten } from './written-rows.ts'

type Variant = { name: string; samples: Effort[]; written?: string; advance: (bench: EngineBench) => Promise<Effort> }

/** What each stage of an answered message costs, and the advance stage against a script of the same statements. */
export function benchEngine(given: Partial<Size> = {}): Promise<string[]> {
  const { rounds, ...size } = { workspaces: 20, backlog: 200, rounds: 5, ...given }
  const load = loadOfMachine()
  const variants: Variant[] = [
    { name: 'advance: engine, one worker', samples: [], advance: (bench) => bench.advance(1) },
    { name: 'advance: engine, two workers', samples: [], advance: (bench) => bench.advance(2) },
    { name: 'advance: bare script', samples: [], advance: (bench) => bench.advanceBare() },
  ]
  return withThrowAwayDatabase((database) =>
    withEngineBench(database, { ...size, rounds: (rounds + 1) * variants.length }, async (bench) => {
      const stages = await playRounds(bench, variants, rounds)
      return [
        `Runs of trigger → branch → tag → set → send, ${bench.count} messages of ${bench.workspaces.length} workspaces a round; median (range) of ${rounds} interleaved rounds`,
        ...report(variants, stages),
        `${load} before, ${loadOfMachine()} after`,
      ]
    }),
  )
}

type Stages = { ingest: Effort[]; send: Effort[] }

/** Each goes first in turn, after a round that only warms everything up. */
async function playRounds(bench: EngineBench, variants: Variant[], rounds: number): Promise<Stages> {
  const stages: Stages = { ingest: [], send: [] }
  for (let round = 0; round <= rounds; round += 1) {
    const turn = round === 0 ? 0 : round % variants.length
    for (const variant of [...variants.slice(turn), ...variants.slice(0, turn)]) {
      const stored = await bench.ingest()
      const since = await databaseTime(bench.database)
      const advanced = await variant.advance(bench)
      variant.written ??= await describeWritten(bench.database, since)
      const sent = await bench.send()
      if (round === 0) continue
      stages.ingest.push(stored)
      variant.samples.push(advanced)
      stages.send.push(sent)
    }
  }
  return stages
}

function report(variants: Variant[], { ingest, send }: Stages): string[] {
  const [one, two, bare] = variants as [Variant, Variant, Variant]
  const ratio = (samples: Effort[], of: (sample: Effort, floor: Effort) => number) =>
    spread(samples.map((sample, n) => of(sample, bare.samples[n] as Effort)))
  const cheapness = (sample: Effort, floor: Effort) => costOf(floor) / costOf(sample)
  const speed = (sample: Effort, floor: Effort) => sample.perSecond / floor.perSecond
  return [
    ...table([
      ['stage', 'per second', 'Node CPU µs', 'Postgres CPU µs', 'CPU µs in all'],
      effortRow('ingest, batches of 50', ingest),
      ...variants.map(({ name, samples }) => effortRow(name, samples)),
      effortRow('send, sandbox', send),
    ]),
    `script ÷ engine, CPU: ${ratio(one.samples, cheapness)} with one worker, ${ratio(two.samples, cheapness)} with two`,
    `engine ÷ script, runs per second: ${ratio(one.samples, speed)} with one worker, ${ratio(two.samples, speed)} with two`,
    ...variants.map(({ name, written }) => `${name} writes ${written}`),
  ]
}
