import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { z } from 'zod'

const SOURCE_MAX = 1000
const PROGRAM_MAX = 2000
/** Matching takes at worst the size of the compiled expression times the length of the text: 4 million take 100 ms. */
const WORK_MAX = 4_000_000

/**
 * Expressions written by customers run on RE2: its time grows with the text alone, so no expression can hang a worker.
 * It knows no look-around and no back-references.
 */
const compiled = new LRUCache<string, RE2JS | Error>({ max: 2000 })

function compilePattern(source: string): RE2JS | Error {
  const known = compiled.get(source)
  if (known) return known
  const fresh = tryCompile(source)
  compiled.set(source, fresh)
  return fresh
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

/** What a schema says of an expression that cannot be used; undefined if it can. */
export function patternIssue(source: string) {
  const result = compilePattern(source)
  if (!(result instanceof Error)) return undefined
  const message = `is not an expression that can be used (RE2 syntax): ${result.message}`
  return { code: 'custom', message, params: { code: 'invalid_pattern' } } as const
}

/** Whether some part of the text matches. An expression that cannot be used, or not on so long a text, never does. */
export function matchesPattern(source: string, text: string): boolean {
  const pattern = compilePattern(source)
  if (pattern instanceof Error || pattern.programSize() * text.length > WORK_MAX) return false
  return pattern.matcher(text).find()
}

export const pattern = z.string().superRefine((source, issues) => {
  const issue = patternIssue(source)
  if (issue) issues.addIssue(issue)
})
