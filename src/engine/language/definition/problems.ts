import '../../../platform/validation-messages.ts'
import { z } from 'zod'
import { didYouMean } from '../../../platform/closest-matches.ts'

/** An error or warning in a definition. `path` is relative to its root: `steps.2.message.body`. */
export type Problem = { stepId: string | null; code: string; message: string; path: string }

/** A part of a definition, with its name for people. */
export type Location = { stepId: string | null; path: string; name: string }

const FIELD_LENGTH_MAX = 250
const MESSAGE_LENGTH_MAX = 2000

/** Locates a step by its ID, which may be of any length, or else by its position in its list. */
export function locateStep(id: string | undefined, path: string, index: number): Location {
  if (id === undefined) return { stepId: null, path, name: `Step ${index + 1}` }
  const stepId = cut(id)
  return { stepId, path, name: `Step "${stepId}"` }
}

/** Describes a problem of a part. The names of the definition that it repeats are shortened. */
export function problemAt(location: Location, at: PropertyKey[] | string, code: string, text: string): Problem {
  const field = toField(at)
  const path = [location.path, field].filter(Boolean).join('.')
  const message = cut(`${location.name}: ${field ? `${field} ` : ''}${text}`, MESSAGE_LENGTH_MAX)
  return { stepId: location.stepId, code, message, path }
}

function toField(at: PropertyKey[] | string): string {
  return cut(typeof at === 'string' ? at : at.map((name) => cut(String(name))).join('.'), FIELD_LENGTH_MAX)
}

/**
 * A problem whose description ends with the name that was probably meant, and with `note`. A note that repeats names of
 * the definition is a function, so that it is written for the first problems only.
 */
export type Finding = {
  location: Location
  at: PropertyKey[] | string
  code: string
  text: string
  /** An unknown name, and the names that it may stand for. */
  near?: { name: string; names: Iterable<string> } | undefined
  note?: string | (() => string) | undefined
}

/** As many problems of a definition are listed; suggestions and notes for the others would only take time and memory. */
const SUGGESTIONS_MAX = 100

export function describeFindings(findings: Finding[]): Problem[] {
  return findings.map(({ location, at, code, text, near, note }, index) => {
    if (index >= SUGGESTIONS_MAX) return problemAt(location, at, code, text)
    const suggestion = near && didYouMean(near.name, near.names)
    const additions = [suggestion, typeof note === 'function' ? note() : note].filter((one) => one !== undefined)
    return problemAt(location, at, code, [additions.length > 0 ? `${text}.` : text, ...additions].join(' '))
  })
}

const LISTED_NAMES_MAX = 20

/** Lists names of a definition, of which there may be any number. */
export function listFirst(names: readonly string[]): string {
  const listed = names.slice(0, LISTED_NAMES_MAX).map((name) => cut(name))
  const left = names.length - listed.length
  return left > 0 ? `${listed.join(SEPARATOR)} … and ${left} more` : listed.join(SEPARATOR)
}

const SHOWN_LENGTH_MAX = 100

/** Shortens a text of a definition, which may be of any length. */
export function cut(text: string, max = SHOWN_LENGTH_MAX): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text
}

/** Quotes a value of a definition, which may be of any form. */
export function quote(value: unknown): string {
  return JSON.stringify(cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')))
}

/** Describes a type that no step or no trigger has, or none at all. `noun` is what `names` are. */
export function describeUnknownType(
  part: Pick<Finding, 'location' | 'code'>,
  noun: string,
  { name, names }: { name: unknown; names: string[] },
): Problem[] {
  const text = name === undefined ? 'is required' : `${quote(name)} is not a ${noun}`
  const near = typeof name === 'string' ? { name, names } : undefined
  return describeFindings([{ ...part, at: 'type', text, near, note: `Use one of ${names.join(', ')}` }])
}

/** A part of a definition as unknown fields are compared with it. `common` are fields that other parts have as well. */
export type Owner = { name: string; common?: readonly string[] }

/** Converts schema issues to the first problem of each path; every unknown field is a problem of its own. */
export function toProblems(error: z.ZodError, location: Location, owner: Owner): Problem[] {
  const findings = error.issues.flatMap((issue): Finding[] => {
    if (issue.code === 'unrecognized_keys') return toUnknownFields(issue, location, owner)
    const isMissing = MISSING.has(issue.code) && issue.input === undefined
    return [{ location, at: issue.path, code: readCode(issue), text: isMissing ? 'is required' : issue.message }]
  })
  const paths = new Set<string>()
  return describeFindings(findings).filter(({ path }) => {
    const isFirst = !paths.has(path)
    paths.add(path)
    return isFirst
  })
}

/** Codes of issues whose own text, such as "must be a whole number", does not say that there is no value at all. */
const MISSING: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

function toUnknownFields(
  { keys, path, message }: z.core.$ZodIssueUnrecognizedKeys,
  location: Location,
  { name, common = [] }: Owner,
): Finding[] {
  const known = message === '' ? [] : message.split(SEPARATOR)
  const isOwn = path.length === 0
  const names = isOwn ? [...known, ...common] : known
  const rest = isOwn && common.length > 0 ? ['those of every step'] : []
  const listed = [known.join(SEPARATOR), ...rest].filter((part) => part !== '').join(' and ')
  const note = `Fields of ${isOwn ? name : toField(path)}: ${listed}`
  return keys.map((key) => ({
    location,
    at: [...path, key],
    code: 'unknown_field',
    text: 'is an unknown field',
    near: { name: key, names },
    note,
  }))
}

const SEPARATOR = ', '

/** Reads the code that a schema's own check puts into `params`. */
function readCode(issue: z.core.$ZodIssue): string {
  const code = issue.code === 'custom' ? issue.params?.['code'] : undefined
  return typeof code === 'string' ? code : 'invalid'
}

/** Options with which parts of a definition are parsed. */
export const PARSING = { error: explainIssue, reportInput: true }

/** Describes an issue by what to change, where zod's own messages describe what was expected and received. */
function explainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(issue.expected)}`
    case 'unrecognized_keys':
      // The names that the object may have: the issue itself has only those that it may not have.
      return issue.inst instanceof z.ZodObject ? listNames(issue.inst).join(SEPARATOR) : ''
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'too_big':
      return bound(issue.origin, `at most ${issue.maximum}`)
    case 'too_small':
      return bound(issue.origin, `at least ${issue.minimum}`)
    case 'invalid_key':
      return 'is not a valid name'
    default:
      return undefined
  }
}

/** The type of a trigger or step decides which fields it has, and is always known. */
function listNames({ shape }: z.ZodObject): string[] {
  return Object.keys(shape).filter((name) => name !== 'type')
}

function article(type: string): string {
  if (type === 'record') return 'an object'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function bound(origin: string, limit: string): string {
  if (origin === 'string') return `must have ${limit} characters`
  return origin === 'array' ? `must have ${limit} entries` : `must be ${limit}`
}
