import '../../../platform/validation-messages.ts'
import type { z } from 'zod'

/** An error or warning in a definition. `path` is relative to its root: `steps.2.message.body`. */
export type Problem = { stepId: string | null; code: string; message: string; path: string }

/** A part of a definition, with its name for people. */
export type Location = { stepId: string | null; path: string; name: string }

export function problemAt(location: Location, at: PropertyKey[] | string, code: string, text: string): Problem {
  const field = typeof at === 'string' ? at : at.map(String).join('.')
  const path = [location.path, field].filter(Boolean).join('.')
  const message = `${location.name}: ${field ? `${field} ` : ''}${text}`
  return { stepId: location.stepId, code, message, path }
}

/** Converts schema issues to the first problem of each path; every unknown field is a problem of its own. */
export function toProblems(error: z.ZodError, location: Location): Problem[] {
  const problems = error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => problemAt(location, [...issue.path, key], 'unknown_field', 'is an unknown field'))
    }
    return [problemAt(location, issue.path, readCode(issue), issue.message)]
  })
  return problems.filter(({ path }, index) => problems.findIndex((one) => one.path === path) === index)
}

/** Reads the code that a schema's own check puts into `params`. */
function readCode(issue: z.core.$ZodIssue): string {
  const code = issue.code === 'custom' ? issue.params?.['code'] : undefined
  return typeof code === 'string' ? code : 'invalid'
}

/** Describes an issue by what to change, where zod's own messages describe what was expected and received. */
export function explainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${article(issue.expected)}`
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

function article(type: string): string {
  if (type === 'record') return 'an object'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function bound(origin: string, limit: string): string {
  if (origin === 'string') return `must have ${limit} characters`
  return origin === 'array' ? `must have ${limit} entries` : `must be ${limit}`
}
