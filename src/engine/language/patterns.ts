import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { z } from 'zod'
import { estimatePattern } from './pattern-work.ts'
import { isBudgetExceeded, spendWork } from './work-budget.ts'

const SOURCE_MAX = 1000
const PROGRAM_MAX = 2000
/** Limit of program size times text length, the worst-case work of a match: 4 million take 100 ms. */
const WORK_MAX = 4_000_000
/** Units of the work budget for each. */
const MATCH_WORK = 0.25
const REPEATS_TOO_MUCH = 'it repeats too much'

/** Work of compiling all expressions of a definition: those of its triggers are compiled for one message. */
export const DEFINITION_PATTERNS_WORK_MAX = 1_000_000

type Entry = { work: number; pattern?: RE2JS | Error }

/**
 * Regular expressions of customers run on RE2, whose time is linear in the text, so that no expression can block a
 * worker. It supports neither look-around nor back-references.
 */
const entries = new LRUCache<string, Entry>({ max: 2000 })

/**
 * Charges the work of compiling, whether or not it is done already: the same input ends at the same place on each process.
 * @throws StepError `budget_exceeded`
 */
function compilePattern(source: string): RE2JS | Error {
  if (source.length > SOURCE_MAX) return new Error(`it is longer than ${SOURCE_MAX} characters`)
  const entry = entries.get(source) ?? createEntry(source)
  entries.set(source, entry)
  spendWork(entry.work)
  entry.pattern ??= tryCompile(source)
  return entry.pattern
}

function createEntry(source: string): Entry {
  const { instructions, work } = estimatePattern(source)
  // The estimate may be too high, so that only what is far too large is rejected without compiling it.
  return instructions > 2 * PROGRAM_MAX ? { work: 0, pattern: new Error(REPEATS_TOO_MUCH) } : { work }
}

function tryCompile(source: string): RE2JS | Error {
  try {
    const pattern = RE2JS.compile(source)
    return pattern.programSize() > PROGRAM_MAX ? new Error(REPEATS_TOO_MUCH) : pattern
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/**
 * Returns the schema issue of an expression that is invalid, or one too many of its definition; undefined if it is
 * neither.
 */
export function patternIssue(source: string) {
  try {
    const result = compilePattern(source)
    if (!(result instanceof Error)) return undefined
    const message = `is not a supported regular expression (RE2 syntax): ${result.message}`
    return { code: 'custom', message, params: { code: 'invalid_pattern' } } as const
  } catch (error) {
    if (!isBudgetExceeded(error)) throw error
    const message =
      'is too expensive together with the patterns before it: use fewer or shorter patterns, smaller repetitions such as {1,50}, and fewer classes such as \\p{L}'
    return { code: 'custom', message, params: { code: 'too_many_patterns' } } as const
  }
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
