import { describeFindings, type Finding, type Problem } from '../language/definition/problems.ts'
import { type Fields, toFields, TRIGGER_FIELDS } from '../language/fields.ts'
import { countPlaceholders, listPaths, TemplateError } from '../language/template.ts'
import { type Root, ROOTS } from '../language/values.ts'
import type { Registry, RootFields } from '../model/registry.ts'
import type { TriggerType } from '../model/trigger.ts'
import { checkPath, type PathFinding, type Readable } from './check-paths.ts'
import type { ParsedStep } from './compile-step.ts'
import type { ParsedTrigger } from './parse-trigger.ts'

type Text = { path: string; text: string }
/** A text with what its placeholders can read. */
type TextHere = Text & Pick<Finding, 'location'> & { roots: readonly Root[]; fields: RootFields }

/** Limit because parsing 10,000 placeholders blocks the process for about half a second. */
const PLACEHOLDERS_MAX = 5000

/**
 * Checks that every placeholder can be parsed and reads something that exists. `triggers` is null if the triggers of the
 * definition cannot be read.
 */
export function checkTemplates(
  { triggers, steps }: { triggers: ParsedTrigger[] | null; steps: ParsedStep[] },
  registry: Registry,
  known: Readable,
): { errors: Problem[]; warnings: Problem[] } {
  const fields: RootFields = { ...registry.roots, ...toTriggerRoot(triggers) }
  const texts = [
    ...(triggers ?? []).flatMap((trigger) => listTriggerTexts(trigger, registry)),
    ...steps.flatMap((step) => listStepTexts(step, fields)),
  ]
  const count = texts.reduce((sum, { text }) => sum + countPlaceholders(text), 0)
  if (count > PLACEHOLDERS_MAX) return { errors: [tooManyPlaceholders(count)], warnings: [] }
  const findings = texts.flatMap(({ location, path, ...text }) =>
    checkText(text, known).map((finding) => ({ ...finding, location, at: path })),
  )
  return {
    errors: describeFindings(findings.filter(({ severity }) => severity === 'error')),
    warnings: describeFindings(findings.filter(({ severity }) => severity === 'warning')),
  }
}

function tooManyPlaceholders(count: number): Problem {
  const message = `The workflow has ${count} placeholders: at most ${PLACEHOLDERS_MAX} are allowed`
  return { stepId: null, code: 'too_many_placeholders', path: 'steps', message }
}

/** Any of the triggers may have started the run; one of an unknown type has fields that are unknown, too. */
function toTriggerRoot(triggers: ParsedTrigger[] | null): { trigger?: Fields } {
  const types = triggers?.map(({ type }) => type) ?? [null]
  if (!types.every((type) => type !== null)) return {}
  return { trigger: Object.assign({ ...TRIGGER_FIELDS }, ...types.map(toRecordedFields)) }
}

function toRecordedFields({ recorded }: TriggerType): Fields {
  return toFields(recorded)
}

function listStepTexts({ location, base, type, config }: ParsedStep, fields: RootFields): TextHere[] {
  const here = { location, roots: ROOTS, fields }
  const own = Object.entries(config).flatMap(([field, value]) => {
    const reads = Object.hasOwn(type.reads, field) ? type.reads[field] : {}
    return listTexts(value, field).map((text) => ({ ...text, ...here, fields: { ...fields, ...reads } }))
  })
  return [
    ...listTexts(base.if, 'if').map((text) => ({ ...text, ...here })),
    ...own.filter(({ path }) => !type.literal.includes(path)),
  ]
}

/** A condition reads the event; the other texts, of a trigger that starts runs directly, read what the run will keep. */
function listTriggerTexts({ location, type, value }: ParsedTrigger, { roots, events }: Registry): TextHere[] {
  if (!type || !value) return []
  const event = events.get(type.type)
  const condition = { location, roots: ROOTS, fields: { ...roots, ...(event ? { trigger: event } : {}) } }
  const started = { location, roots: type.roots, fields: { trigger: { ...TRIGGER_FIELDS, ...toRecordedFields(type) } } }
  return [
    ...listTexts(value.if, 'if').map((text) => ({ ...text, ...condition })),
    ...type.texts(value).map((text) => ({ ...text, ...started })),
  ]
}

function listTexts(value: unknown, path: string): Text[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, child]) => listTexts(child, `${path}.${key}`))
}

function checkText({ text, roots, fields }: Omit<TextHere, 'path' | 'location'>, known: Readable): PathFinding[] {
  if (!text.includes('{{') && !text.includes('{%')) return []
  try {
    return listPaths(text).flatMap((path) => checkPath(path, { ...known, roots, fields }) ?? [])
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return [{ severity: 'error', code: 'invalid_template', text: error.message }]
  }
}
