import { problemAt, type Problem } from '../language/definition/problems.ts'
import { countPlaceholders, listPaths, TemplateError } from '../language/template.ts'
import { type Root, ROOTS } from '../language/values.ts'
import type { CompiledTrigger, TriggerRegistry } from '../model/trigger.ts'
import type { ParsedStep } from './compile-step.ts'
import type { ParsedTrigger } from './parse-trigger.ts'

type Known = { steps: ReadonlySet<string>; variables: ReadonlySet<string> }
type Text = { path: string; text: string; roots?: readonly Root[] }
type Finding = { severity: 'error' | 'warning'; code: string; message: string }

/** Limit because parsing 10,000 placeholders blocks the process for about half a second. */
const PLACEHOLDERS_MAX = 5000

/** Checks that every placeholder can be parsed and reads something in `known`. */
export function checkTemplates(
  { triggers, steps }: { triggers: ParsedTrigger[]; steps: ParsedStep[] },
  registry: TriggerRegistry,
  known: Known,
): { errors: Problem[]; warnings: Problem[] } {
  const texts = [
    ...triggers.flatMap(({ location, value }) =>
      value ? listTriggerTexts(value, registry).map((text) => ({ location, ...text })) : [],
    ),
    ...steps.flatMap((step) => listStepTexts(step).map((text) => ({ location: step.location, ...text }))),
  ]
  const count = texts.reduce((sum, { text }) => sum + countPlaceholders(text), 0)
  if (count > PLACEHOLDERS_MAX) return { errors: [tooManyPlaceholders(count)], warnings: [] }
  const problems = texts.flatMap(({ location, path, ...text }) =>
    checkText(text, known).map(({ severity, code, message }) => ({
      severity,
      problem: problemAt(location, path, code, message),
    })),
  )
  return {
    errors: problems.filter(({ severity }) => severity === 'error').map(({ problem }) => problem),
    warnings: problems.filter(({ severity }) => severity === 'warning').map(({ problem }) => problem),
  }
}

function tooManyPlaceholders(count: number): Problem {
  const message = `The workflow has ${count} placeholders: at most ${PLACEHOLDERS_MAX} are allowed`
  return { stepId: null, code: 'too_many_placeholders', path: 'steps', message }
}

function listStepTexts({ base, type, config }: ParsedStep): Text[] {
  const texts = Object.entries(config).flatMap(([field, value]) => listTexts(value, field))
  return [...listTexts(base.if, 'if'), ...texts.filter(({ path }) => !type.literal.includes(path))]
}

function listTriggerTexts(trigger: CompiledTrigger, registry: TriggerRegistry): Text[] {
  const type = registry.get(trigger.type)
  const texts = type?.texts(trigger).map((text) => ({ ...text, roots: type.roots })) ?? []
  return [...listTexts(trigger.if, 'if'), ...texts]
}

function listTexts(value: unknown, path: string): Text[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => listTexts(child, `${path}.${key}`))
}

function checkText({ text, roots = ROOTS }: Omit<Text, 'path'>, known: Known): Finding[] {
  if (!text.includes('{{') && !text.includes('{%')) return []
  try {
    return listPaths(text).flatMap((path) => checkPath(path, { ...known, roots }) ?? [])
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return [{ severity: 'error', code: 'invalid_template', message: error.message }]
  }
}

type Readable = Known & { roots: readonly string[] }

function checkPath([root = '', name, part]: string[], known: Readable): Finding | undefined {
  if (!known.roots.includes(root)) {
    const message = `reads "${root}", which does not exist: a path starts with one of ${known.roots.join(', ')}`
    return { severity: 'error', code: 'unknown_root', message }
  }
  if (root === 'steps' && name && !known.steps.has(name)) {
    const message = `reads "steps.${name}", but the workflow has no such step`
    return { severity: 'error', code: 'unknown_step', message }
  }
  if (root === 'steps' && name && part !== 'output') {
    const message = `reads "steps.${name}": write steps.${name}.output`
    return { severity: 'error', code: 'unknown_path', message }
  }
  if (root === 'vars' && name && !known.variables.has(name)) {
    return { severity: 'warning', code: 'unknown_variable', message: `reads "vars.${name}", which is never assigned` }
  }
  return undefined
}
