import { isDeepStrictEqual } from 'node:util'
import type { SimulationTrace } from '../../engine/simulate/simulate.ts'
import { describeReason } from '../simulations/to-simulation-result.ts'
import { getField } from '../../platform/get-field.ts'
import type { Expectation } from './schema.ts'

const SHOWN_MAX = 200

/** What came otherwise than a test expects, in sentences. A list is told of at the first place where it differs. */
export function findDifferences(
  { status, path, transcript, variables }: Expectation,
  played: SimulationTrace,
): string[] {
  const [run] = played.runs
  const steps = run?.steps.map(({ stepId }) => stepId) ?? []
  const said = played.transcript.map(({ from, body, buttons }) => ({ from, body, buttons: buttons.map(titleOf) }))
  return [
    ...(status === undefined ? [] : compareStatus(status, played)),
    ...(path === undefined ? [] : compareLists('Step', path, steps, String)),
    ...(transcript === undefined ? [] : compareLists('Message', transcript.map(withButtons), said, tellSaid)),
    ...(variables === undefined ? [] : compareVariables(variables, run?.state.variables ?? {})),
  ]
}

function compareStatus(expected: string, { runs: [run], reason }: SimulationTrace): string[] {
  if (!run) return [`Expected a run that is ${expected}, and none was started. ${describeReason(reason) ?? ''}`.trim()]
  const { status, error } = run.state
  if (status === expected) return []
  return [`The run: expected ${expected}, was ${status}${error ? ` (${error.message})` : ''}`]
}

function compareLists<T>(noun: string, expected: T[], met: T[], tell: (one: T) => string): string[] {
  const length = Math.max(expected.length, met.length)
  const at = Array.from({ length }, (_, index) => index).find(
    (index) => !isDeepStrictEqual(expected[index], met[index]),
  )
  if (at === undefined) return []
  const [wanted, came] = [expected[at], met[at]]
  const place = `${noun} ${at + 1}`
  if (came === undefined && wanted !== undefined) return [`${place}: expected ${tell(wanted)}, and none came`]
  if (wanted === undefined && came !== undefined) return [`${place}: expected none, got ${tell(came)}`]
  return wanted === undefined || came === undefined ? [] : [`${place}: expected ${tell(wanted)}, got ${tell(came)}`]
}

function compareVariables(expected: Record<string, unknown>, met: Record<string, unknown>): string[] {
  return Object.entries(expected).flatMap(([name, value]) => {
    if (isDeepStrictEqual(value, met[name])) return []
    return [`vars.${name}: expected ${show(value)}, was ${show(met[name])}`]
  })
}

type Said = NonNullable<Expectation['transcript']>[number]

function withButtons({ from, body, buttons = [] }: Said): Said {
  return { from, body, buttons }
}

function tellSaid({ from, body, buttons = [] }: Said): string {
  const choices = buttons.length > 0 ? ` [${buttons.join(' | ')}]` : ''
  return `${show(body)}${choices} from the ${from}`
}

function titleOf(button: unknown): string {
  const title = getField(button, 'title')
  return typeof title === 'string' ? title : String(button)
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX).toWellFormed()}…` : text
}
