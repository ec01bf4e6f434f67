import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { z } from 'zod'
import { spendWork } from './work-budget.ts'

const SOURCE_MAX = 1000
const PROGRAM_MAX = 2000
/** Limit of program size times text length, the worst-case work of a match: 4 million take 100 ms. */
const WORK_MAX = 4_000_000
/** Units of the work budget for each. */
const MATCH_WORK = 0.25

/**
 * Regular expressions of customers run on RE2, whose time is linear in the text, so that no expression can block a
 * worker. It supports neither look-around nor back-references.
 */
const compiled = new LRUCache<string, RE2JS | Error>({ max: 2000 })

function compilePattern(source: string): RE2JS | Error {
  const cached = compiled.get(source)
  if (cached) return cached
  const result = tryCompile(source)
  compiled.set(source, result)
  return result
}

function tryCompile(source: string): RE2JS | Error {
  if (source.length > SOURCE_MAX) return new Error(`it is longer than ${SOURCE_MAX} characters`)
  try {
    const pattern = RE2JS.compile(source)
    return pattern.programSize() > PROGRAM_MAX ? new Error('it repeats too much') : pattern
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Returns the schema issue of an invalid expression; undefined if it is valid. */
export function patternIssue(source: string) {
  const result = compilePattern(source)
  if (!(result instanceof Error)) return undefined
  const message = `is not a supported regular expression (RE2 syntax): ${result.message}`
  return { code: 'custom', message, params: { code: 'invalid_pattern' } } as const
}

/**
 * True if a part of the text matches. An invalid expression, or one that is too expensive for the text, never does.
 * @throws StepError `budget_exceeded`
 */
export function matchesPattern(source: string, text: string): boolean {
  const pattern = compilePattern(source)
  if (pattern instanceof Error) return false
  const work = pattern.programSize() * text.length
  if (work > WORK_MAX) return false
  spendWork(work * MATCH_WORK)
  return pattern.matcher(text).find()
}

export const pattern = z.string().superRefine((source, issues) => {
  const issue = patternIssue(source)
  if (issue) issues.addIssue(issue)
})
