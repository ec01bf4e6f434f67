import type { ParsedStep } from './compile-step.ts'
import type { ParsedTrigger } from './compile-trigger.ts'
import { problemAt, type Location, type Problem } from '../language/definition/problems.ts'
import type { Trigger } from '../language/definition/triggers.ts'
import { countPlaceholders, listPaths, TemplateError } from '../language/template.ts'
import { type Root, ROOTS, WEBHOOK_ROOTS } from '../language/values.ts'

type Known = { steps: ReadonlySet<string>; variables: ReadonlySet<string> }
type Text = { path: string; text: string; roots?: readonly Root[] }
type Finding = { severity: 'error' | 'warning'; code: string; what: string }

/** Reading 10,000 takes about half a second, in which nobody else is answered. */
const PLACEHOLDERS_MAX = 5000

/** Whether every placeholder can be read, and reads something that is in `known`. */
export function checkTemplates(
  triggers: ParsedTrigger[],
  steps: ParsedStep[],
  known: Known,
): { errors: Problem[]; warnings: Problem[] } {
  const texts = [
    ...triggers.flatMap(({ place, value }) => textsOfTrigger(value).map((text) => ({ place, ...text }))),
    ...steps.flatMap((step) => textsOf(step).map((text) => ({ place: step.place, ...text }))),
  ]
  const count = texts.reduce((sum, { text }) => sum + countPlaceholders(text), 0)
  if (count > PLACEHOLDERS_MAX) return { errors: [tooMany(count)], warnings: [] }
  const problems = texts.flatMap(({ place, path, ...text }) =>
    check(text, known).map((finding) => tell(finding, place, path)),
  )
  return {
    errors: problems.filter(({ severity }) => severity === 'error').map(({ problem }) => problem),
    warnings: problems.filter(({ severity }) => severity === 'warning').map(({ problem }) => problem),
  }
}

function tooMany(count: number): Problem {
  const message = `The workflow has ${count} placeholders: at most ${PLACEHOLDERS_MAX} are allowed`
  return { stepId: null, code: 'too_many_placeholders', path: 'steps', message }
}

function tell({ severity, code, what }: Finding, place: Location, path: string) {
  return { severity, problem: problemAt(place, path, code, what) }
}

function textsOf({ base, type, config }: ParsedStep): Text[] {
  const own = Object.entries(config).flatMap(([field, value]) => textsIn(value, field))
  return [...textsIn(base.if, 'if'), ...own.filter(({ path }) => !type.literal.includes(path))]
}

function textsIn(value: unknown, path: string): Text[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => textsIn(child, `${path}.${key}`))
}

function textsOfTrigger(trigger: Trigger | null): Text[] {
  if (trigger?.type !== 'webhook') return textsIn(trigger?.if, 'if')
  const texts = [...textsIn(trigger.contact?.phone, 'contact.phone'), ...textsIn(trigger.dedupeKey, 'dedupeKey')]
  return texts.map((text) => ({ ...text, roots: WEBHOOK_ROOTS }))
}

function check({ text, roots = ROOTS }: Omit<Text, 'path'>, known: Known): Finding[] {
  if (!text.includes('{{') && !text.includes('{%')) return []
  try {
    return listPaths(text).flatMap((path) => checkPath(path, { ...known, roots }) ?? [])
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return [{ severity: 'error', code: 'invalid_template', what: error.message }]
  }
}

type Readable = Known & { roots: readonly string[] }

function checkPath([root = '', name, part]: string[], known: Readable): Finding | undefined {
  if (!known.roots.includes(root)) {
    const what = `reads "${root}", which is not known: a path starts with one of ${known.roots.join(', ')}`
    return { severity: 'error', code: 'unknown_root', what }
  }
  if (root === 'steps' && name && !known.steps.has(name)) {
    return { severity: 'error', code: 'unknown_step', what: `reads "steps.${name}", which is no step of this workflow` }
  }
  if (root === 'steps' && name && part !== 'output') {
    return { severity: 'error', code: 'unknown_path', what: `reads "steps.${name}": write steps.${name}.output` }
  }
  if (root === 'vars' && name && !known.variables.has(name)) {
    return { severity: 'warning', code: 'unknown_variable', what: `reads "vars.${name}", which nothing fills in` }
  }
  return undefined
}
