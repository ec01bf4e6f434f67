import { z } from 'zod'
import { getField } from './fields.ts'

type Issue = z.core.$ZodRawIssue

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  date: 'a date',
  null: 'null',
}

const UNITS: Record<string, string> = { string: 'characters', array: 'entries', set: 'entries', map: 'entries' }

/** Between the names in the message of an issue of unknown fields, which are those that the object may have. */
export const NAME_SEPARATOR = ', '

// Set by the import of this module: the messages of schemas that state none themselves. Each completes a field's name.
z.config({ customError: describeIssue })

function describeIssue(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'too_small':
      return describeLimit(issue.origin, 'at least', issue.minimum)
    case 'too_big':
      return describeLimit(issue.origin, 'at most', issue.maximum)
    case 'invalid_value':
      if (issue.input === undefined) return 'is required'
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${listValues(issue.values)}`
    case 'invalid_format':
      return `must be a valid ${issue.format === 'regex' ? 'value' : issue.format}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : describeUnion(issue)
    case 'unrecognized_keys':
      return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape).join(NAME_SEPARATOR) : ''
    case 'invalid_key':
      return 'has a key that is not allowed'
    default:
      return undefined
  }
}

/** Describes the field that tells the forms of an object apart, if there is one. The input is the object. */
function describeUnion(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  const options: unknown = 'options' in issue ? issue.options : undefined
  if (issue.discriminator === undefined || !Array.isArray(options)) return 'has none of the allowed forms'
  const isMissing = getField(issue.input, issue.discriminator) === undefined
  return `${isMissing ? 'is required:' : 'must be'} one of ${listValues(options)}`
}

function listValues(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}

function describeLimit(origin: string, relation: string, limit: number | bigint): string {
  const unit = UNITS[origin]
  return unit ? `must have ${relation} ${limit} ${unit}` : `must be ${relation} ${limit}`
}
