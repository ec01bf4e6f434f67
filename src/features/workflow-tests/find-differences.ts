import { isDeepStrictEqual } from 'node:util'
import type { SimulationTrace } from '../../engine/simulate/simulate.ts'
import { describeReason } from '../simulations/to-simulation-result.ts'
import { getField } from '../../platform/fields.ts'
import type { Expectation } from './schema.ts'

const TEXT_LENGTH_MAX = 200

/** Describes how a simulation differs from the expectation of a test. Of a list, only the first difference is reported. */
export function findDifferences(
  { status, path, transcript, variables }: Expectation,
  trace: SimulationTrace,
): string[] {
  const [run] = trace.runs
  const steps = run?.steps.map(({ stepId }) => stepId) ?? []
  const entries = trace.transcript.map(({ from, body, buttons }) => ({ from, body, buttons: buttons.map(toTitle) }))
  return [
    ...(status === undefined ? [] : compareStatus(status, trace)),
    ...(path === undefined ? [] : compareLists('Step', path, steps, String)),
    ...(transcript === undefined ? [] : compareLists('Message', transcript.map(withButtons), entries, describeEntry)),
    ...(variables === undefined ? [] : compareVariables(variables, run?.state.variables ?? {})),
  ]
}

function compareStatus(expected: string, { runs: [run], reason }: SimulationTrace): string[] {
  if (!run) return [`Run: expected ${expected}, got no run. ${describeReason(reason) ?? ''}`.trim()]
  const { status, error } = run.state
  if (status === expected) return []
  return [`Run: expected ${expected}, got ${status}${error ? ` (${error.message})` : ''}`]
}

function compareLists<T>(noun: string, expected: T[], actual: T[], describe: (entry: T) => string): string[] {
  const length = Math.max(expected.length, actual.length)
  const index = Array.from({ length }, (_, at) => at).find((at) => !isDeepStrictEqual(expected[at], actual[at]))
  if (index === undefined) return []
  const describeAt = (entries: T[]) => entries.slice(index, index + 1).map(describe)[0] ?? 'none'
  return [`${noun} ${index + 1}: expected ${describeAt(expected)}, got ${describeAt(actual)}`]
}

function compareVariables(expected: Record<string, unknown>, actual: Record<string, unknown>): string[] {
  return Object.entries(expected).flatMap(([name, value]) => {
    if (isDeepStrictEqual(value, actual[name])) return []
    return [`vars.${name}: expected ${formatValue(value)}, got ${formatValue(actual[name])}`]
  })
}

type ExpectedEntry = NonNullable<Expectation['transcript']>[number]

function withButtons({ from, body, buttons = [] }: ExpectedEntry): ExpectedEntry {
  return { from, body, buttons }
}

function describeEntry({ from, body, buttons = [] }: ExpectedEntry): string {
  const choices = buttons.length > 0 ? ` [${buttons.join(' | ')}]` : ''
  return `${formatValue(body)}${choices} from the ${from}`
}

function toTitle(button: unknown): string {
  const title = getField(button, 'title')
  return typeof title === 'string' ? title : String(button)
}

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX).toWellFormed()}…` : text
}
