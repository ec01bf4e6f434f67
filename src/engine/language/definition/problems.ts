import type { z } from 'zod'

/** What is wrong, or may surprise, in a definition. `path` leads there from its root: `steps.2.message.body`. */
export type Problem = { stepId: string | null; code: string; message: string; path: string }

/** Where in a definition something stands, and how a person would call that place. */
export type Location = { stepId: string | null; path: string; name: string }

export function problemAt(place: Location, at: PropertyKey[] | string, code: string, what: string): Problem {
  const within = typeof at === 'string' ? at : at.map(String).join('.')
  const path = [place.path, within].filter(Boolean).join('.')
  const message = `${place.name}: ${within ? `${within} ` : ''}${what}`
  return { stepId: place.stepId, code, message, path }
}

/** One problem per place in the definition, the first; a field that does not exist is a problem of its own. */
export function toProblems(error: z.ZodError, place: Location): Problem[] {
  const problems = error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => problemAt(place, [...issue.path, key], 'unknown_field', 'is not a field here'))
    }
    return [problemAt(place, issue.path, codeOf(issue), issue.message)]
  })
  return problems.filter(({ path }, index) => problems.findIndex((one) => one.path === path) === index)
}

/** A schema's own check names its code in `params`, so that a screen can react to it. */
function codeOf(issue: z.core.$ZodIssue): string {
  const code = issue.code === 'custom' ? issue.params?.['code'] : undefined
  return typeof code === 'string' ? code : 'invalid'
}

/** Says what to change, where zod's own words say what it expected and got. */
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
      return 'is not a name that can be used here'
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
