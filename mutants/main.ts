import { fileURLToPath } from 'node:url'
import { AREAS } from './catalog/index.ts'
import type { Mutant } from './mutant.ts'
import { readArguments } from '../src/platform/process/read-command.ts'
import { type Options, parseOptions, USAGE } from './parse-options.ts'
import { Sandbox } from './sandbox.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const print = (line: string) => process.stdout.write(`${line}\n`)

type Verdict = 'killed' | 'survived' | 'equivalent' | 'not applicable'

async function judge(sandbox: Sandbox, mutant: Mutant, tests: string[]): Promise<{ verdict: Verdict; detail: string }> {
  if (mutant.equivalent !== undefined) return { verdict: 'equivalent', detail: mutant.equivalent }
  const problem = sandbox.findProblem(mutant)
  if (problem !== undefined) return { verdict: 'not applicable', detail: problem }
  const { passed, seconds, output } = await sandbox.withMutant(mutant, () => sandbox.runTests(tests))
  const failed = / 1\) (.*(?:\n .*){0,3})/.exec(output)?.[1]?.replace(/\s+/g, ' ').slice(0, 160)
  const detail = passed ? `${mutant.file} passes ${tests.join(', ')}` : (failed ?? 'the tests did not end')
  return { verdict: passed ? 'survived' : 'killed', detail: `${seconds.toFixed(0)} s, ${detail}` }
}

/** Tests that fail without a mutant would count every mutant as killed. */
async function assertTestsPass(sandbox: Sandbox, tests: string[]): Promise<void> {
  const { passed, output } = await sandbox.runTests(tests)
  if (!passed) throw new Error(`The tests fail without a mutant:\n${output}`)
}

async function runMutants({ area: areaName, only, isList }: Options): Promise<number> {
  const selected = AREAS.filter(({ name }) => areaName === undefined || name === areaName).flatMap((area) =>
    area.mutants.filter(({ name }) => name.includes(only)).map((mutant) => ({ area, mutant })),
  )
  if (isList) {
    for (const { area, mutant } of selected) print(`${area.name}: ${mutant.name} (${mutant.file})`)
    return 0
  }
  const sandbox = new Sandbox(ROOT)
  const counts = new Map<Verdict, number>()
  try {
    const tests = selected.flatMap(({ area, mutant }) =>
      mutant.equivalent === undefined ? (mutant.tests ?? area.tests) : [],
    )
    if (tests.length > 0) await assertTestsPass(sandbox, [...new Set(tests)])
    for (const { area, mutant } of selected) {
      const { verdict, detail } = await judge(sandbox, mutant, mutant.tests ?? area.tests)
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
      print(`${verdict}: ${area.name}: ${mutant.name} (${detail})`)
    }
  } finally {
    sandbox.remove()
  }
  print([...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', '))
  return counts.has('survived') || counts.has('not applicable') ? 1 : 0
}

process.exitCode = await runMutants(readArguments(USAGE, parseOptions))
